# SPDX-License-Identifier: GPL-2.0
"""Rows of steering's tables as the command reads and prints them (steer_rows.c)."""

import ctypes

from hostlib import OUT, TOP, TRAPS, make_library

OK, FAILED, USAGE, _, PERMISSION = range(5)


class Compared(ctypes.Structure):
    _fields_ = [("differs", ctypes.c_char * 1200), ("depends", ctypes.c_char * 1200)]


class Rows:
    def __init__(self, out=OUT / "steer_rows.so"):
        flags = [*TRAPS, "-D_GNU_SOURCE", "-Wno-unused-parameter", f"-I{TOP / 'loader'}"]
        self.lib = make_library("steer_rows.c", out, flags=flags)
        self.lib.row.argtypes = [
            *(ctypes.c_uint, ctypes.c_bool, ctypes.c_char_p, ctypes.c_int),
            *(ctypes.c_char_p, ctypes.c_size_t),
        ]
        self.lib.number_of.restype = ctypes.c_uint64
        self.lib.why.restype = self.lib.hint.restype = ctypes.c_char_p
        self.lib.text_of_cgroup.restype = ctypes.c_char_p
        self.lib.covers.restype = self.lib.object_is_there.restype = ctypes.c_bool
        self.lib.ends_differ.restype = ctypes.c_bool
        self.code = None

    @property
    def hint(self):
        return self.lib.hint().decode()

    def read(self, line, at=0, path=False, usage=USAGE):
        """(what is wrong or "", the row as it is printed); how it ends is in `code`."""
        buf = ctypes.create_string_buffer(2000)
        self.code = self.lib.row(at, path, line.encode(), usage, buf, len(buf))
        why = self.lib.why().decode()
        assert (self.code == OK) == (why == ""), (line, self.code, why)
        return why, buf.value.decode()

    def compare(self, rule, connection):
        """(fields that differ, fields that it depends on)"""
        assert self.read(rule)[0] == ""
        found = Compared()
        self.code = self.lib.compare(connection.encode(), ctypes.byref(found))
        assert self.code == OK, (connection, self.lib.why())
        return found.differs.decode(), found.depends.decode()

    def asked(self, connection):
        """What is wrong with a connection's words."""
        self.code = self.lib.compare(connection.encode(), ctypes.byref(Compared()))
        return self.lib.why().decode()

    def covers(self, a, b, path=False):
        for at, line in enumerate((a, b)):
            assert self.read(line, at, path)[0] == ""
        return self.lib.covers(path)

    def set(self, kind, name, value):
        kind.in_dll(self.lib, name).value = value
