# SPDX-License-Identifier: GPL-2.0
"""The time that no scheduler can beat: data as a fluid, every path full from the first moment."""


def fluid_bound(size, paths):
    """Seconds from the request to the last byte.

    The smallest T with sum over paths of max(0, T - owd) * goodput >= size, plus the one-way delay
    of the request, which travels on the first path. Windows, their growth and losses do not exist
    here; goodput is that of full frames (netlab.PAYLOAD of netlab.FRAME bytes of the rate).
    """
    best = float("inf")
    # Paths join in the order of their delay; with the first k of them T solves a linear equation.
    ordered = sorted(paths, key=lambda p: p.owd)
    for k in range(1, len(ordered) + 1):
        used = ordered[:k]
        rate = sum(p.goodput for p in used)
        t = (size + sum(p.owd * p.goodput for p in used)) / rate
        if t >= used[-1].owd:
            best = min(best, t)
    return paths[0].owd + best


def best_path(paths):
    """Index of the path that is best alone: the fastest, the one with the shorter RTT among equals."""
    return min(range(len(paths)), key=lambda i: (-paths[i].mbit, paths[i].rtt_ms))
