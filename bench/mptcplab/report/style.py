# SPDX-License-Identifier: GPL-2.0
"""How a scheduler looks in all figures.

Colours are Okabe and Ito's, which colour-blind people can tell apart, and cividis for areas; line
styles, markers and hatches say the same again, for print without colours.
"""

COLOURS = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
    "#999999",
)
DASHES = ("-", "--", "-.", ":")
MARKERS = "osD^v<>pP*X"
HATCHES = ("", "//", "\\\\", "xx", "..", "--", "++", "oo", "||", "**", "OO")
# Where a reader looks for them, whatever else is in a figure.
FIXED = {
    "plain TCP": ("#999999", "--", "x", ".."),
    "default": ("#000000", "-", "o", ""),
}


def styles(schedulers):
    """{scheduler: (colour, dashes, marker, hatch)}, the same in all figures with the same ones."""
    out, free = {}, 0
    for word in schedulers:
        if word in FIXED:
            out[word] = FIXED[word]
            continue
        colour = COLOURS[1 + free % (len(COLOURS) - 2)]
        dashes = DASHES[free % len(DASHES)]
        out[word] = (
            colour,
            dashes,
            MARKERS[1 + free % (len(MARKERS) - 1)],
            HATCHES[1 + free % (len(HATCHES) - 1)],
        )
        free += 1
    return out


def order(words):
    words = set(words)
    first = [w for w in FIXED if w in words]
    return first + sorted(words - FIXED.keys())
