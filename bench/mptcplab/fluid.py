# SPDX-License-Identifier: GPL-2.0
"""The time that no scheduler can beat on a connection that opens on the first path.

Data is a fluid, and every path full from the first moment. Plain TCP that opens on a faster path
can beat it: handshake and request are charged to the first. A delay that varies counts at its mean.
"""

import dataclasses
import itertools


def fluid_time(size, lines):
    """Seconds from the sender's start to the last byte; `lines`: (one-way delay, bytes/s) of each path.

    The smallest T with sum over paths of max(0, T - delay) * rate >= size.
    """
    best = float("inf")
    # Paths join in the order of their delay; with the first k of them T solves a linear equation.
    ordered = sorted(lines)
    for k in range(1, len(ordered) + 1):
        used = ordered[:k]
        t = (size + sum(d * r for d, r in used)) / sum(r for _, r in used)
        if t >= used[-1][0]:
            best = min(best, t)
    return best


def fluid_bound(size, paths):
    """Seconds from the request to the last byte of the answer.

    To fluid_time() comes the one-way delay of the request, which travels on the first path.
    Windows, their growth and losses do not exist here; goodput is that of full frames
    (path.PAYLOAD of path.FRAME bytes of the rate).
    """
    return paths[0].owd + fluid_time(size, [(p.owd, p.goodput) for p in paths])


def best_path(paths):
    """Index of the path that is best alone: the fastest, the one with the shorter RTT among equals."""
    return min(range(len(paths)), key=lambda i: (-paths[i].mbit, paths[i].rtt_ms))


def fluid_shares(size, paths):
    """Bytes that each path carries when a fluid of that size is there first."""
    end = fluid_bound(size, paths) - paths[0].owd
    return [max(0.0, end - p.owd) * p.goodput for p in paths]


def rates(path, changes, begin, end):
    """[(seconds, Mbit/s)] of a path during a time in which it changes; none while it loses all."""
    out, at, mbit, alive = [], begin, path.mbit, True
    for change in (*changes, None):
        stop = end if change is None else min(end, max(begin, change.at))
        if stop > at:
            rate = mbit if alive else 0
            if out and out[-1][1] == rate:
                out[-1] = (out[-1][0] + stop - at, rate)
            else:
                out.append((stop - at, rate))
            at = stop
        if change and change.what == "mbit":
            mbit = change.value
        elif change and change.what == "loss":
            alive = change.value < 100
    return out


def mean_rate(paths, changes, begin, end, top=float("inf")):
    """Mbit/s of all paths together, at most `top` at any moment, over a time."""
    edges = {begin, end}
    for path in paths:
        edges |= {c.at for c in changes.get(path.name, ()) if begin < c.at < end}
    edges = sorted(edges)
    sums = 0.0
    for a, b in itertools.pairwise(edges):
        each = (rates(p, changes.get(p.name, ()), a, b)[0][1] for p in paths)
        sums += (b - a) * min(top, sum(each))
    return sums / (end - begin)


def path_at(path, changes, when):
    """The path as it is at a moment."""
    found = {c.what: c.value for c in changes if c.at <= when}
    return dataclasses.replace(path, **found)
