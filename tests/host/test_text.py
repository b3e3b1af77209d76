# SPDX-License-Identifier: GPL-2.0
"""Text from elsewhere made plain (loader/cli/text.c) and fit to a width (loader/cli/wrap.c)."""

import ctypes
import random
import unicodedata

import pytest
from hostlib import OUT, TOP, TRAPS, make_library

# What turns the direction of what stands behind it, and ends of lines that are no line feed.
OBEYED = {0xFFFD, 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)}


@pytest.fixture(scope="module")
def lib():
    made = make_library("text.c", OUT / "text.so", flags=[*TRAPS, f"-I{TOP / 'loader'}"])
    made.text_plain.restype = ctypes.c_char_p
    made.text_plain.argtypes = [ctypes.c_char_p, ctypes.c_bool]
    made.text_utf8.restype = ctypes.c_char_p
    return made


def plain(lib, data, lines=False):
    buf = ctypes.create_string_buffer(data)
    return lib.text_plain(buf, lines)


def utf8(lib, data):
    copy = ctypes.c_char_p()
    return lib.text_utf8(ctypes.c_char_p(data), ctypes.byref(copy))


def test_every_character(lib):
    """Each alone, against Python's own tables."""
    for code in range(1, 0x110000):
        if 0xD800 <= code < 0xE000:
            continue
        char = chr(code)
        bad = unicodedata.category(char) == "Cc" or code in OBEYED
        if bad or code % 97 == 0 or code < 0x3000:
            data = char.encode()
            assert plain(lib, data) == (b"?" if bad else data), hex(code)
            assert utf8(lib, data) == data
    assert plain(lib, b"a\n\tb\x1b", True) == b"a\n\tb?"


@pytest.mark.parametrize(
    "data",
    [
        b"\x80",
        b"\xc0\x9b",
        b"\xc1\xbf",
        b"\xe0\x80\x9b",
        b"\xed\xa0\x80",
        b"\xf0\x80\x80\x9b",
        b"\xf4\x90\x80\x80",
        b"\xf5\x80\x80\x80",
        b"\xff",
        b"\xc3",
        b"\xe2\x82",
        b"\xf0\x9f\x98",
    ],
)
def test_no_utf8(lib, data):
    for text in (data, b"a" + data, data + b"a", data + "\u20ac".encode()):
        assert b"?" in plain(lib, text)
        assert utf8(lib, text).decode().strip("a\u20ac") == "\ufffd" * len(data)


def test_any_bytes(lib):
    draw = random.Random(1)
    for _ in range(20_000):
        data = bytes(
            draw.choice(b"\x1b\x9b\xc2\xe2\x80\xa8\n ab\xff") for _ in range(draw.randrange(12))
        )
        data = data.replace(b"\0", b"")
        text = plain(lib, data).decode()
        assert not any(unicodedata.category(c) == "Cc" or ord(c) in OBEYED for c in text)
        assert len(text.encode()) <= len(data)
        assert lib.text_width(text.encode()) == len(text)
        utf8(lib, data).decode()


def wrapped(lib, text, cols, crop=0):
    buf = ctypes.create_string_buffer(65536)
    data = text.encode()
    nr = lib.wrapped_text(data, cols, crop, buf, ctypes.c_size_t(len(buf)))
    lines = buf.value.decode().splitlines()
    assert len(lines) == nr
    return lines


def test_where_a_line_breaks(lib):
    line = "  decisions 123 (+4/s)  picks 77  note some words"
    assert wrapped(lib, line, 80) == [line]
    assert wrapped(lib, line, 30) == [
        "  decisions 123 (+4/s)",
        "    picks 77  note some words",
    ]
    assert wrapped(lib, "one two three", 8) == ["one two", "three"]
    assert wrapped(lib, "10.0.1.1:37334", 12) == ["10.0.1.1:37+", "334"]
    assert wrapped(lib, "a\n\nb\n", 5) == ["a", "", "b"]
    assert wrapped(lib, "", 5) == []
    assert wrapped(lib, "\u00fc" * 10, 10) == ["\u00fc" * 10]
    assert wrapped(lib, "one two three", 8, 1) == ["one tw+"]


def test_nothing_is_lost_and_no_word_broken_unmarked(lib):
    draw = random.Random(2)
    for _ in range(20_000):
        words = [
            "".join(draw.choice("0123456789\u20ac") for _ in range(draw.randrange(1, 9)))
            for _ in range(draw.randrange(1, 9))
        ]
        text = "".join(w + " " * draw.randrange(1, 3) for w in words).rstrip()
        text = " " * draw.randrange(4) + text
        cols = draw.randrange(2, 40)
        lines = wrapped(lib, text, cols)
        assert max(map(len, lines)) <= cols
        whole = ""
        for line in lines:
            line = line.strip(" ")
            whole += line[:-1] if line.endswith("+") else line + " "
        assert whole.split() == words
