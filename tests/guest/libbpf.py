# SPDX-License-Identifier: GPL-2.0
"""As much of libbpf as the tests need: load an object, attach it, read its maps.

In-process and without pins, so that nothing stays behind when a test fails.
"""

import ctypes
import errno
import os

LIBRARY = "libbpf.so.1"
_lib = ctypes.CDLL(LIBRARY, use_errno=True)
_libc = ctypes.CDLL(None)
_PRINT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)


def _declare(name, result, *arguments):
    function = getattr(_lib, name)
    function.restype, function.argtypes = result, arguments
    return function


_ptr, _int, _text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
_set_print = _declare("libbpf_set_print", _ptr, _PRINT)
_open = _declare("bpf_object__open_file", _ptr, _text, _ptr)
_load = _declare("bpf_object__load", _int, _ptr)
_close = _declare("bpf_object__close", None, _ptr)
_next_map = _declare("bpf_object__next_map", _ptr, _ptr, _ptr)
_map_type = _declare("bpf_map__type", _int, _ptr)
_map_name = _declare("bpf_map__name", _text, _ptr)
_map_fd = _declare("bpf_map__fd", _int, _ptr)
_autocreate = _declare("bpf_map__set_autocreate", _int, _ptr, ctypes.c_bool)
_attach_ops = _declare("bpf_map__attach_struct_ops", _ptr, _ptr)
_find_prog = _declare("bpf_object__find_program_by_name", _ptr, _ptr, _text)
_attach = _declare("bpf_program__attach", _ptr, _ptr)
_pin = _declare("bpf_link__pin", _int, _ptr, _text)
_detach = _declare("bpf_link__destroy", _int, _ptr)
_lookup = _declare("bpf_map_lookup_elem", _int, _int, _ptr, _ptr)
_update = _declare("bpf_map_update_elem", _int, _int, _ptr, _ptr, ctypes.c_uint64)
_next_link = _declare("bpf_link_get_next_id", _int, ctypes.c_uint32, _ptr)
_next_prog = _declare("bpf_prog_get_next_id", _int, ctypes.c_uint32, _ptr)
_prog_fd = _declare("bpf_prog_get_fd_by_id", _int, ctypes.c_uint32)
_next_key = _declare("bpf_map_get_next_key", _int, _int, _ptr, _ptr)
MAP_TYPE_STRUCT_OPS = 26

_log = []


@_PRINT
def _on_message(level, text, arguments):
    buffer = ctypes.create_string_buffer(65536)
    size = _libc.vsnprintf(buffer, len(buffer), text, ctypes.c_void_p(arguments))
    if level < 2 and size > 0:
        _log.append(buffer.value.decode(errors="replace"))
    return 0


_set_print(_on_message)


def links():
    """How many BPF links the kernel has, pinned or not."""
    at, count = ctypes.c_uint32(), 0
    while not _next_link(at, ctypes.byref(at)):
        count += 1
    return count


def verified(ids):
    """Of each of these programs, how many instructions the verifier went through."""
    at, found = ctypes.c_uint32(), []
    while not _next_prog(at, ctypes.byref(at)):
        if at.value not in ids:
            continue
        fd = _prog_fd(at)
        with open(f"/proc/self/fdinfo/{fd}") as f:
            facts = dict(line.split(":\t") for line in f)
        os.close(fd)
        found.append(int(facts["verified_insns"]))
    return found


class Refused(Exception):
    """The kernel or libbpf said no; the text holds the verifier's log."""

    def __init__(self, what, code):
        self.code = code
        self.log = "".join(_log)
        name = errno.errorcode.get(code, str(code))
        super().__init__(f"{what}: {name}\n{self.log}")


class Object:
    def __init__(self, path, only_ops=None):
        """Loads it; of its struct_ops maps only that one where one is named."""
        _log.clear()
        self.links = []
        self.object = _open(os.fsencode(path), None)
        if not self.object:
            raise Refused(f"open {path}", ctypes.get_errno())
        if only_ops:
            self._choose(only_ops)
        if _load(self.object):
            code = ctypes.get_errno()
            self.close()
            raise Refused(f"load {path}", code)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def detach_last(self):
        _detach(self.links.pop())

    def detach(self):
        for link in self.links:
            _detach(link)
        self.links = []

    def close(self):
        self.detach()
        if self.object:
            _close(self.object)
        self.object = None

    def _maps(self):
        at = _next_map(self.object, None)
        while at:
            yield _map_name(at).decode(), at
            at = _next_map(self.object, at)

    def _choose(self, name):
        names = [n for n, m in self._maps() if _map_type(m) == MAP_TYPE_STRUCT_OPS]
        assert name in names, f"{name} is none of {names}"
        for other, at in self._maps():
            if other in names:
                _autocreate(at, other == name)

    def _keep(self, link, what):
        if not link:
            code = ctypes.get_errno()
            raise Refused(what, code)
        self.links.append(link)

    def register(self, ops):
        self._keep(_attach_ops(dict(self._maps())[ops]), f"register {ops}")

    def attach(self, program):
        found = _find_prog(self.object, program.encode())
        self._keep(_attach(found), f"attach {program}")

    def pin(self, path):
        """What was attached last: it stays when this is closed."""
        if _pin(self.links[-1], os.fsencode(path)):
            raise Refused(f"pin {path}", ctypes.get_errno())

    def u64(self, name, key, words=1):
        """A value of an array of words, or of a hash by its 64-bit key."""
        value = (ctypes.c_uint64 * words)()
        kind = ctypes.c_uint64 if words > 1 else ctypes.c_uint32
        fd = _map_fd(dict(self._maps())[name])
        assert not _lookup(fd, ctypes.byref(kind(key)), value), f"{name}[{key}]"
        return list(value) if words > 1 else value[0]

    def put(self, name, key, value):
        """A word of an array."""
        fd = _map_fd(dict(self._maps())[name])
        assert not _update(
            fd, ctypes.byref(ctypes.c_uint32(key)), ctypes.byref(ctypes.c_uint64(value)), 0
        ), name

    def keys(self, name):
        fd = _map_fd(dict(self._maps())[name])
        found, key, last = [], ctypes.c_uint64(), None
        while not _next_key(fd, last, ctypes.byref(key)):
            found.append(key.value)
            last = ctypes.byref(ctypes.c_uint64(key.value))
        return found
