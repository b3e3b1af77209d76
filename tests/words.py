#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""How long the sentences of the documentation are: a part of `make lint`.

words.py [FILE...]     these, or all; says the mean of each that is over its limit, and its longest
                       sentences. Exit status 1: there is one.

Code, tables and headings are no sentences. What stands in backquotes is one word.
"""

import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
ALL = ("*.md", "docs/*.md", "docs/*/*.md")
# Who uses it is in more of a hurry than who works on it.
FOR_USERS, ELSEWHERE = 16, 20
SHOWN = 5

LEFT_OUT = re.compile(r"<!--.*?-->|^```.*?^```", re.DOTALL | re.MULTILINE)
BETWEEN = re.compile(r"\n\s*\n|^\s*(?:[-*]|\d+\.)\s|^#+ .*$|^\s*\|.*$", re.MULTILINE)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
CODE = re.compile(r"`[^`]*`")
END = re.compile(r"(?<=[.!?])\s+")


def sentences(text):
    """(number of words, sentence) of each that has more than one."""
    for block in BETWEEN.split(LEFT_OUT.sub("\n\n", text)):
        plain = CODE.sub("X", LINK.sub(r"\1", " ".join(block.split())))
        for sentence in END.split(plain):
            words = sum(bool(re.search(r"\w", word)) for word in sentence.split())
            if words > 1:
                yield words, sentence


def limit_of(path):
    name = path.relative_to(TOP).as_posix()
    return FOR_USERS if name == "README.md" or name.startswith("docs/use/") else ELSEWHERE


def too_long(path):
    """What is wrong with it, in lines."""
    found = sorted(sentences(path.read_text()), reverse=True)
    mean = sum(words for words, _ in found) / len(found) if found else 0
    if mean > limit_of(path):
        yield f"{path.relative_to(TOP)}: {mean:.1f} words in a sentence, at most {limit_of(path)}:"
        yield from (f"  {words}: {sentence}" for words, sentence in found[:SHOWN])


def main():
    named = [Path(name).resolve() for name in sys.argv[1:]]
    paths = named or sorted(p for pattern in ALL for p in TOP.glob(pattern))
    wrong = [line for path in paths for line in too_long(path)]
    print("\n".join(wrong), end="\n" if wrong else "")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
