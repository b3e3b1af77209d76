# SPDX-License-Identifier: GPL-2.0
"""[draw]: combinations of parameters that nobody chose. Their seed is the release, or --draw WORD.

cells                       how many
NAME = { from, to }         numbers, evenly in their logarithm, to two digits
NAME = { among = [...] }    one of these
"""

import math
import random
import re

from mptcplab.places import SRC
from mptcplab.schema import NUMBER

DIGITS = 2


def release():
    """The version of the project: its one place is kmod/dkms.conf."""
    text = (SRC / "kmod" / "dkms.conf").read_text()
    return re.search(r'^PACKAGE_VERSION="(.*)"', text, re.MULTILINE)[1]


def number(rng, low, high):
    value = math.exp(rng.uniform(math.log(low), math.log(high)))
    return float(f"{value:.{DIGITS}g}")


def drawer(table):
    """rng -> a value, of one parameter's table."""
    among = table.take("among", list)
    if among is not None:
        if not among:
            table.fail("among", "must not be empty")
        table.end()
        return lambda rng: rng.choice(among)
    low, high = (table.take(key, NUMBER, needed=True) for key in ("from", "to"))
    table.end()
    if not 0 < low < high < math.inf:
        table.fail("from", f"{low!r} to {high!r}: above 0, and the lower one first")
    return lambda rng: number(rng, low, high)


def combinations(table, seed):
    """Parameters of each cell; `cell` is its number, `draw` the seed. None where nothing is drawn."""
    cells = table.take("cells", int, 0)
    drawers = {key: drawer(table.table(key)) for key in list(table.left)}
    if not drawers and not cells:
        return None
    if cells < 1 or not drawers:
        table.fail("cells", "1 or more, with what is drawn")
    for key in drawers:
        if key in ("cell", "draw"):
            table.fail(key, "is a name of its own")
    return [
        {"draw": seed, "cell": i}
        # one parameter more, or one cell more, leaves the others as they are
        | {key: draw(random.Random(f"{seed} {i} {key}")) for key, draw in drawers.items()}
        for i in range(1, cells + 1)
    ]
