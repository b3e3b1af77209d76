# SPDX-License-Identifier: GPL-2.0
"""By which names the exporter may be asked (loader/exporter/host.c): none that another site can have."""

import ctypes
import ipaddress
import random

import pytest
from hostlib import OUT, TOP, TRAPS, make_library

OWN = b"web-1"
GIVEN = [b"metrics.example.org", b"Page.Example.net."]


@pytest.fixture(scope="module")
def lib():
    made = make_library(
        "exporter_host.c", OUT / "exporter_host.so", flags=[*TRAPS, f"-I{TOP / 'loader'}"]
    )
    made.host_is_ours.restype = made.host_is_name.restype = ctypes.c_bool
    (ctypes.c_char * 64).in_dll(made, "own_name").value = OWN
    return made


def is_ours(lib, header, names=()):
    made = (ctypes.c_char_p * len(names))(*names)
    # in memory of its very size
    header = header if header is None else ctypes.create_string_buffer(header)
    return lib.host_is_ours(header, made, len(names))


def test_addresses(lib):
    rng = random.Random(1)
    for _ in range(1000):
        v4 = str(ipaddress.IPv4Address(rng.getrandbits(32))).encode()
        v6 = str(ipaddress.IPv6Address(rng.getrandbits(128) >> rng.randrange(128))).encode()
        for host in (v4, b"[%s]" % v6):
            assert is_ours(lib, host) and is_ours(lib, host + b":9851"), host
        # these are no hosts, or names
        for host in (v6 + b"g", b"[%s" % v6, b"[%s]x" % v6, b"[%s]" % v4, v4 + b".evil.example"):
            assert not is_ours(lib, host), host


@pytest.mark.parametrize("port", [b"", b":", b":80", b":9851"])
@pytest.mark.parametrize("name", [b"localhost", OWN, *GIVEN])
def test_names(lib, name, port):
    bare = name.rstrip(b".")
    for way in (bare, bare + b".", bare.upper(), bare.swapcase()):
        assert is_ours(lib, way + port, GIVEN), way
        assert is_ours(lib, way + port) is (name not in GIVEN), way
        for other in (b"x" + way, way + b"x", way + b".evil.example", b"evil." + way, way[1:]):
            assert not is_ours(lib, other + port, GIVEN), other
    assert not is_ours(lib, bare + b".." + port, GIVEN)
    assert not is_ours(lib, bare + b":80x", GIVEN) and not is_ours(lib, bare + b":80:80", GIVEN)


def test_others(lib):
    assert is_ours(lib, None), "no browser leaves it out"
    for header in (b"", b".", b":", b":9851", b"[", b"[]", b"]", b"evil.example", b"a" * 10_000):
        assert not is_ours(lib, header, GIVEN), header[:20]
    assert not is_ours(lib, b"evil.example", [b""]) and not is_ours(lib, b"", [b"."])


def test_a_machine_without_a_name_has_none(lib):
    own = (ctypes.c_char * 64).in_dll(lib, "own_name")
    own.value = b""
    try:
        assert not is_ours(lib, b"") and not is_ours(lib, OWN) and is_ours(lib, b"localhost")
    finally:
        own.value = OWN


def test_what_may_be_given(lib):
    for name in (*GIVEN, b"x", b"a_b", b"192.0.2.1", b"a" * 253):
        assert lib.host_is_name(ctypes.c_char_p(name)), name
    for name in (b"", b"a b", b"a:80", b"http://a", b"a/", b"*", "é".encode(), b"a" * 254):
        assert not lib.host_is_name(ctypes.c_char_p(name)), name
