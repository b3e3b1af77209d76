# SPDX-License-Identifier: GPL-2.0
"""A terminal of a given size with a program on it, and what it shows."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from command import PROGRAM
from lab import SLOW

SEQUENCE = re.compile(rb"\x1b\[\??([0-9;]*)([A-Za-z])")


class Page:
    """As much of a terminal as the program uses; anything else is an error."""

    def __init__(self, rows, cols):
        self.rows, self.cols = rows, cols
        self.lines = [b""] * rows
        self.row, self.col = 0, 0
        self.second, self.cursor = False, True
        self.frames = 0  # how often it was drawn from the top
        self.cleared = 0  # whole pages that were wiped: flicker

    def feed(self, data):
        """Returns what may be the beginning of a sequence."""
        at = 0
        while at < len(data):
            if data[at] != 0x1B:
                self._plain(data[at : at + 1])
                at += 1
                continue
            found = SEQUENCE.match(data, at)
            if not found:
                assert len(data) - at < 12, f"not understood: {data[at : at + 20]}"
                return data[at:]
            self._control(found.group(0), *found.groups())
            at = found.end()
        return b""

    def _plain(self, char):
        if char == b"\r":
            self.col = 0
        elif char == b"\n":
            self.row += 1
            assert self.row < self.rows, "the page scrolled"
        else:
            assert self.col < self.cols, "a line went on behind the right margin"
            line = self.lines[self.row].ljust(self.col)
            self.lines[self.row] = line[: self.col] + char + line[self.col + 1 :]
            self.col += 1

    def _control(self, whole, number, letter):
        if whole in (b"\x1b[?1049h", b"\x1b[?1049l"):
            self.second = letter == b"h"
        elif whole in (b"\x1b[?25h", b"\x1b[?25l"):
            self.cursor = letter == b"h"
        elif whole == b"\x1b[H":
            self.row = self.col = 0
            self.frames += 1
        elif whole == b"\x1b[K":
            self.lines[self.row] = self.lines[self.row][: self.col]
        elif whole == b"\x1b[J":
            self.lines[self.row] = self.lines[self.row][: self.col]
            for row in range(self.row + 1, self.rows):
                self.lines[row] = b""
        elif whole == b"\x1b[2J":
            self.cleared += 1
        else:
            raise AssertionError(f"not understood: {whole}")

    @property
    def text(self):
        return "\n".join(line.decode(errors="replace") for line in self.lines)

    @property
    def status(self):
        """What stands below: where the page is, and what it has no room for."""
        _, found, rest = self.text.rpartition("q: quit")
        return " ".join((found + rest).split())


class Terminal:
    def __init__(self, *args, rows=40, cols=160, controlling=False):
        """controlling: the program hears of its keys that are signals, and of its end."""
        self.master, slave = pty.openpty()
        self.page = Page(rows, cols)
        self.resize(rows, cols)
        self.rest = b""
        self.process = subprocess.Popen(
            [*(("setsid", "--ctty") if controlling else ()), PROGRAM, *args],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            # a group's leader, setsid would fork
            start_new_session=not controlling,
        )
        os.close(slave)

    def resize(self, rows, cols):
        """The page is another from here on; its program hears of it."""
        if hasattr(self, "process"):
            self.read(0.2)
            second, cursor, frames = (
                self.page.second,
                self.page.cursor,
                self.page.frames,
            )
            self.page = Page(rows, cols)
            self.page.second, self.page.cursor = second, cursor
            self.page.frames = frames
        size = struct.pack("HHHH", rows, cols, 0, 0)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)
        if hasattr(self, "process"):
            self.process.send_signal(signal.SIGWINCH)

    def read(self, seconds=0.1):
        """What comes within that time; False when the program has gone."""
        deadline = time.monotonic() + seconds * SLOW
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([self.master], [], [], left)[0]:
                break
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return False
            if not data:
                return False
            self.rest = self.page.feed(self.rest + data)
        return True

    def wait_for(self, condition, seconds=60):
        """Until the page is such."""
        deadline = time.monotonic() + seconds * SLOW
        while not condition(self.page):
            assert self.read() or condition(self.page), f"it ended: {self.page.text}"
            assert time.monotonic() < deadline, self.page.text
        return self.page

    def press(self, keys):
        os.write(self.master, keys)

    @property
    def echoes(self):
        """Does it show what is typed, line by line, as a shell expects it?"""
        mode = termios.tcgetattr(self.master)[3]
        return bool(mode & termios.ECHO) and bool(mode & termios.ICANON)

    def end(self, number=None, seconds=30):
        """The exit status after a signal, or without one."""
        if number:
            self.process.send_signal(number)
        deadline = time.monotonic() + seconds * SLOW
        while self.process.poll() is None and time.monotonic() < deadline:
            self.read()
        self.read()
        return self.process.wait(1)

    def hang_up(self):
        os.close(self.master)
        self.master = None

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.master is not None:
            self.hang_up()


@contextlib.contextmanager
def terminal(*args, **options):
    made = Terminal(*args, **options)
    try:
        yield made
    finally:
        made.close()
