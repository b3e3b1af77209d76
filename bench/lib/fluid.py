# SPDX-License-Identifier: GPL-2.0
"""The time that no scheduler can beat: data as a fluid, every path full from the first moment."""

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
    (netlab.PAYLOAD of netlab.FRAME bytes of the rate).
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
    """[(seconds, Mbit/s)] of a path during a time in which its rate changes."""
    out, at, mbit = [], begin, path.mbit
    for change in changes:
        if change.what != "mbit":
            continue
        if change.at > at:
            stop = min(end, change.at)
            out.append((stop - at, mbit))
            at = stop
            if at >= end:
                break
        mbit = change.value
    if at < end:
        out.append((end - at, mbit))
    return [(s, r) for s, r in out if s > 0]


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
