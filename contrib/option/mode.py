#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A socket that names its mode of bpf_steer: `mode.py redundant`. See docs/use/steering.md."""

import socket
import sys

SOL_MPTCP = 284
STEER_MODE = 0x4D53

mode = sys.argv[1] if len(sys.argv) > 1 else "redundant"
with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP) as sock:
    try:
        sock.setsockopt(SOL_MPTCP, STEER_MODE, mode.encode() + b"\0")
        print(sock.getsockopt(SOL_MPTCP, STEER_MODE, 16).rstrip(b"\0").decode())
    except OSError as error:
        sys.exit(f"{mode}: {error.strerror}")
