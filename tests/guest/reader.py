# SPDX-License-Identifier: GPL-2.0
"""A reader who types a page's commands, one after the other, as they stand there."""

import contextlib
import os
import re
import signal
import subprocess

import documented
from lab import SLOW, until

# Who is root needs no sudo. The editor is left without a change.
PROLOGUE = """
sudo() { "$@"; }
sudoedit() { test -w "$1"; }
"""
PATIENCE = 240 * SLOW


def script(command):
    return PROLOGUE + command


class Running:
    """A command that goes on until Ctrl-C, in a group of its own, which gets that."""

    def __init__(self, words, file, **options):
        self.file = file
        with open(file, "w") as out:
            self.process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **options,
            )

    @property
    def said(self):
        return self.file.read_text()

    def has_said(self, pattern, meanwhile=lambda: None):
        """Until it has: a regular expression. What it tells of is made meanwhile."""

        def look():
            found = re.search(pattern, self.said, re.MULTILINE)
            assert found or self.process.poll() is None, f"it ended: {self.said}"
            if not found:
                meanwhile()
            return found

        try:
            return until(look, 30, f"{pattern} from {self.process.args[-1]}", every=0.2)
        except AssertionError as error:
            raise AssertionError(self.said) from error

    def ends(self, meanwhile=lambda: None):
        """By itself."""

        def look():
            if self.process.poll() is None:
                meanwhile()
            return self.process.poll() is not None

        until(look, 60, f"the end of {self.process.args[-1]}", every=0.2)

    def interrupt(self):
        """Its exit status, as a shell has it where a signal was the end."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
        code = self.process.wait(PATIENCE)
        return code if code >= 0 else 128 - code

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()


class Reader:
    """`words` of a command name it to the test, and are what the page must have next."""

    def __init__(self, document, place, net, names=None):
        """names: what stands for the reader's own, and what that is here."""
        self.document, self.place, self.net = document, place, net
        self.names = names or {}
        self.left = documented.typed(document)
        self.assigned = []
        self.programs = place / "programs"  # which the guest lacks
        self.programs.mkdir()

    def _next(self, words):
        assert self.left, f"{self.document} has no more commands: {words}"
        command = self.left.pop(0)
        assert words in command, f"{self.document} has {command!r} and not {words!r}"
        for name, here in self.names.items():
            command = command.replace(name, here)
        words = ["bash", "-euc", script("\n".join((*self.assigned, command)))]
        if re.match(r"\w+=", command):
            self.assigned.append(command)
        return words

    @property
    def _options(self):
        path = f"{self.programs}:{os.environ['PATH']}"
        return {"cwd": self.place, "env": os.environ | {"PATH": path}}

    def types(self, words, succeeds=True):
        """What it prints, when it is over."""
        line = self._next(words)
        with self.net.inside():
            done = subprocess.run(
                line,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
                **self._options,
            )
        assert not succeeds or done.returncode == 0, f"{line[-1]}: {done.stdout}{done.stderr}"
        return done.stdout

    @contextlib.contextmanager
    def runs(self, words, status=0):
        """It goes on meanwhile; then it is interrupted, and has that exit status."""
        line = self._next(words)
        file = self.place / f"said-{len(self.left)}"
        with self.net.inside():
            running = Running(line, file, **self._options)
        try:
            yield running
            code = running.interrupt()
            assert code == status, f"{line[-1]}: {code}: {running.said}"
        finally:
            running.close()

    def done(self):
        assert not self.left, f"{self.document} has more commands: {self.left}"
