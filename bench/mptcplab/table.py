# SPDX-License-Identifier: GPL-2.0
"""Aligned tables for people."""


def table(head, rows):
    """Lines of a table: the first column to the left, the others to the right."""
    cells = [[str(c) for c in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        first = row[0].ljust(widths[0])
        rest = (c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))
        yield "  ".join((first, *rest)).rstrip()


def number(value, spec, none="-"):
    return none if value is None else format(value, spec)
