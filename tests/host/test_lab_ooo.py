# SPDX-License-Identifier: GPL-2.0
"""Out-of-order delays of packets made by hand, byte by byte, as tcpdump would keep them."""

import hashlib
import struct

import dpkt
import pytest
from mptcplab import ooo

CLIENT, SERVER = b"\x0a\x4d\x01\x02", b"\x0a\x4d\x01\x01"
CLIENT_2 = b"\x0a\x4d\x02\x02"
SYN, ACK = 2, 16
CLIENT_KEY, SERVER_KEY = b"clientke", b"serverke"


def first_number(key):
    """RFC 8684, 3.1: the initial data sequence number is the low 64 bits of the key's SHA-256."""
    return int.from_bytes(hashlib.sha256(key).digest()[-8:], "big") + 1


def token(key):
    return hashlib.sha256(key).digest()[:4]


class Tape:
    """A capture file in the making."""

    def __init__(self, path):
        self.path, self.file = path, path.open("wb")
        self.out = dpkt.pcap.Writer(self.file, linktype=276, nano=True)

    def packet(self, when, src, dst, ports, seq, flags=ACK, option=b"", length=0):
        if option:
            option = bytes([30, 2 + len(option)]) + option
            option += b"\1" * (-len(option) % 4)
        offset = (20 + len(option)) // 4
        tcp = struct.pack(">HHIIBBHHH", *ports, seq & 0xFFFFFFFF, 0, offset << 4, flags, 1000, 0, 0)
        total = 20 + 4 * offset + length
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, total, 0, 0, 64, 6, 0, src, dst)
        cooked = struct.pack(">HHIHBB8s", 0x800, 0, 2, 1, 0, 6, b"\0" * 8)
        # The payload is not kept.
        self.out.writepkt(cooked + ip + tcp + option, when)

    def down(self, when, path, seq, option=b"", length=0, flags=ACK, port=80):
        """From the server, on path 1 or 2."""
        to = CLIENT if path == 1 else CLIENT_2
        self.packet(when, SERVER, to, (port, 1000 + path), seq, flags, option, length)

    def up(self, when, path, seq, option=b"", length=0, flags=ACK):
        src = CLIENT if path == 1 else CLIENT_2
        self.packet(when, src, SERVER, (1000 + path, 80), seq, flags, option, length)

    def connect(self):
        """Two subflows; the server's first data is at 5001 on one and 9001 on the other."""
        self.up(0, 1, 100, b"\x01\x01", flags=SYN)
        self.down(0.1, 1, 5000, b"\x01\x01" + SERVER_KEY, flags=SYN | ACK)
        self.up(0.2, 1, 101, b"\x01\x01" + CLIENT_KEY + SERVER_KEY)
        self.up(0.3, 2, 200, b"\x10\x02" + token(SERVER_KEY) + b"none", flags=SYN)
        self.down(0.4, 2, 9000, b"\x10\x02" + b"h" * 12, flags=SYN | ACK)

    def done(self):
        self.file.close()
        return ooo.analyse(self.path)


@pytest.fixture
def tape(tmp_path):
    return Tape(tmp_path / "x.pcap")


def dss(key, at, subflow, length, wide=True, ack=0):
    """at: place in the connection's data; subflow: relative sequence number, from 1."""
    number = first_number(key) + at
    flags = 4 | (8 if wide else 0) | ack
    data = (
        struct.pack(">Q", number & (2**64 - 1)) if wide else struct.pack(">I", number & 0xFFFFFFFF)
    )
    acked = bytes(8 if ack & 2 else 4) if ack else b""
    return b"\x20" + bytes([flags]) + acked + data + struct.pack(">IH", subflow, length)


def delays(found):
    """From the quantiles, which hold every value of a few."""
    return sorted(set(found["quantiles_s"]))


def test_data_in_order_does_not_wait(tape):
    tape.connect()
    tape.down(1, 1, 5001, dss(SERVER_KEY, 0, 1, 100), 100)
    tape.down(2, 2, 9001, dss(SERVER_KEY, 100, 1, 50), 50)
    found = tape.done()
    assert (found["packets"], found["mean_s"], found["unmapped"]) == (2, 0, 0)


def test_a_packet_waits_until_what_is_before_it_is_there(tape):
    tape.connect()
    tape.down(1.0, 2, 9001, dss(SERVER_KEY, 100, 1, 50, ack=1), 50)
    tape.down(1.5, 2, 9051, dss(SERVER_KEY, 150, 51, 50, wide=False, ack=3), 50)
    tape.down(3.0, 1, 5001, dss(SERVER_KEY, 0, 1, 100), 100)
    found = tape.done()
    assert found["packets"] == 3
    assert delays(found) == [0, 1.5, 2.0]
    assert found["mean_s"] == pytest.approx(3.5 / 3)


def test_segments_of_one_mapping_are_told_apart_by_their_place_in_it(tape):
    tape.connect()
    # One mapping for 200 bytes; the second half comes first, and without the option.
    tape.down(1, 1, 5101, dss(SERVER_KEY, 0, 1, 200), 100)
    tape.down(3, 1, 5001, b"", 100)
    found = tape.done()
    assert (found["packets"], delays(found)) == (2, [0, 2.0])


def test_copies_count_once(tape):
    tape.connect()
    for _ in range(2):
        tape.down(1, 2, 9001, dss(SERVER_KEY, 100, 1, 50), 50)
    tape.down(2, 1, 5001, dss(SERVER_KEY, 0, 1, 100), 100)
    tape.down(3, 2, 9051, dss(SERVER_KEY, 0, 51, 100), 100)
    found = tape.done()
    assert (found["packets"], found["again"], delays(found)) == (2, 2, [0, 1.0])


def test_an_upload_has_the_other_keys_numbers(tape):
    tape.connect()
    tape.up(1, 2, 201, dss(CLIENT_KEY, 10, 1, 20), 20)
    tape.up(1.25, 1, 101, dss(CLIENT_KEY, 0, 1, 10), 10)
    found = tape.done()
    assert (found["packets"], found["unmapped"], delays(found)) == (2, 0, [0, 0.25])


def test_plain_tcp_has_its_own_numbers(tape):
    tape.up(0, 1, 100, flags=SYN)
    tape.down(0.1, 1, 2**32 - 50, flags=SYN | ACK)
    tape.down(1, 1, 2**32 - 50 + 101, length=100)
    tape.down(4, 1, 2**32 - 49, length=100)
    found = tape.done()
    assert (found["packets"], delays(found)) == (2, [0, 3.0])


def test_what_cannot_be_placed_is_counted(tape):
    tape.connect()
    tape.down(1, 1, 5001, length=100)
    assert tape.done()["unmapped"] == 1


def test_the_largest_packet(tape):
    tape.connect()
    tape.down(1, 1, 5001, dss(SERVER_KEY, 0, 1, 1428), 1428)
    assert tape.done()["largest_packet"] == 20 + 20 + 20 + 1428
