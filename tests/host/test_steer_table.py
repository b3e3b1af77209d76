# SPDX-License-Identifier: GPL-2.0
"""Reading steering's tables while others write them, and tables that are none of ours."""

import ctypes
import errno

import pytest
from hostlib import OUT, TOP, TRAPS, make_library

FAILED = 1
LOOKS = 100
ERRORS = ("outer_errno", "open_errno", "slots_errno")
SIZES = dict.fromkeys(("looks", "races", "overflows", *ERRORS), 0)


class Kernel:
    def __init__(self, lib):
        self.lib = lib
        for name, value in SIZES.items():
            self[name] = value
        lib.fill(3, 2, 15, 0)

    def __setitem__(self, name, value):
        ctypes.c_uint.in_dll(self.lib, name).value = value

    def __getitem__(self, name):
        return ctypes.c_uint.in_dll(self.lib, name).value

    def rules(self):
        found = self.lib.read_rules()
        return found if found >= 0 else self.lib.why().decode()


@pytest.fixture(scope="module")
def lib():
    flags = [*TRAPS, "-D_GNU_SOURCE", "-Wno-unused-parameter", f"-I{TOP / 'loader'}"]
    made = make_library("steer_table.c", OUT / "steer_table.so", flags=flags)
    made.why.restype = made.look_why.restype = ctypes.c_char_p
    return made


@pytest.fixture
def kernel(lib):
    return Kernel(lib)


def test_a_table(kernel):
    assert kernel.rules() == 3


def test_nothing_was_written(kernel):
    kernel["outer_errno"] = errno.ENOENT
    assert kernel.rules() == 0


def test_one_that_is_replaced_meanwhile_is_not_empty(kernel):
    """The map is gone when it is to be opened: another one is in its place."""
    for races in (1, 5, LOOKS - 1):
        kernel["races"] = races
        assert kernel.rules() == 3
        assert kernel["looks"] == races + 1
    kernel["races"] = LOOKS
    assert "busy" in kernel.rules()


@pytest.mark.parametrize("name", ERRORS)
def test_what_the_kernel_refuses_is_told(kernel, name):
    kernel[name] = errno.EPERM
    assert "not permitted" in kernel.rules()


OTHERS = {
    "type": (1, "of another version"),
    "key_size": (8, "of another version"),
    "value_size": (1 << 20, "of another version"),
    "outer_type": (2, "it has no map"),
    "slot_size": (8, "of another version"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_maps_of_others(kernel, name):
    """None of them is read, or the kernel would write beyond the table's end."""
    usual = kernel[name]
    kernel[name], why = OTHERS[name]
    assert why in kernel.rules()
    assert kernel.lib.look() == -errno.EPROTO
    kernel[name] = usual
    assert not kernel["overflows"]


@pytest.mark.parametrize("table", [(1025, 0, 0, 0), (0, 65, 0, 0), (0, 1, 16, 0), (1, 0, 0, 13)])
def test_tables_of_others(kernel, table):
    kernel.lib.fill(*table)
    assert "of another version" in kernel.rules()


def test_the_limits_are_ours(kernel):
    kernel.lib.fill(1024, 64, 15, 12)
    assert kernel.rules() == 1024


def test_not_loaded_is_no_other_version(kernel):
    loaded = ctypes.c_bool.in_dll(kernel.lib, "is_loaded")
    loaded.value = False
    found = kernel.lib.look()
    loaded.value = True
    assert found == -errno.ENOENT
    assert kernel.lib.look() == 0
    kernel["open_errno"] = errno.EPERM
    assert kernel.lib.look() == -errno.EPERM
    assert b"not permitted" in kernel.lib.look_why(-errno.EPERM)
    assert b"of another version" in kernel.lib.look_why(-errno.EPROTO)
