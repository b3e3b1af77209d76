# SPDX-License-Identifier: GPL-2.0
"""What a device carries: TCP segments with the kernel's own time of each."""

import socket
import struct
from dataclasses import dataclass

ETH_P_ALL = 3
SO_TIMESTAMPNS = 35  # asm-generic/socket.h, with the 64-bit ABI's struct timespec
SO_RCVBUFFORCE = 33
OUTGOING = 4  # linux/if_packet.h


@dataclass(frozen=True)
class Segment:
    time: float  # seconds
    out: bool
    seq: int
    payload: int  # bytes


class Wire:
    """Listens on a device of a namespace; what came is read when it is asked for."""

    def __init__(self, net, device):
        with net.inside():
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 4 << 20)
        self.sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.sock.bind((device, ETH_P_ALL))
        self.sock.setblocking(False)
        self.seen = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def _one(self):
        data, control, _, address = self.sock.recvmsg(128, 64)
        if len(data) < 54 or data[12:14] != b"\x08\x00" or data[23] != socket.IPPROTO_TCP:
            return
        ((_, _, stamp),) = control
        seconds, ns = struct.unpack("=qq", stamp)
        tcp = 14 + (data[14] & 15) * 4
        total, seq = (
            struct.unpack_from("!H", data, 16)[0],
            *struct.unpack_from("!I", data, tcp + 4),
        )
        payload = total - (tcp - 14) - (data[tcp + 12] >> 4) * 4
        self.seen.append(Segment(seconds + ns / 1e9, address[2] == OUTGOING, seq, payload))

    def segments(self):
        while True:
            try:
                self._one()
            except BlockingIOError:
                return self.seen

    def sent(self, since=0):
        """Segments with data that left here."""
        return [s for s in self.segments() if s.out and s.payload and s.time >= since]
