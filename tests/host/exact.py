# SPDX-License-Identifier: GPL-2.0
"""ECF in exact arithmetic, and states that lie on its boundaries.

Written from the paper (ecf-conext17, Algorithm 1) with its divisions, in
rational numbers. A second opinion beside oracle.c: where that one's floating
point cannot tell, this one can.
"""

from fractions import Fraction

from hostlib import (
    ACTIVE,
    BACKUP,
    ECF,
    FASTER,
    LOSS,
    NO_ROOM,
    NO_SUBFLOW,
    SNDBUF,
    WAIT,
    Case,
    Path_,
)

EDGE_NUMBERS = [0, 1, 2, 3]
EDGE_NUMBERS += [(1 << bits) + d for bits in (16, 31, 32, 33, 48, 63, 64) for d in (-1, 0, 1)]
EDGE_NUMBERS = [n for n in EDGE_NUMBERS if n < 1 << 64]


def room(p):
    return max(0, max(0, p.cwnd - p.inflight) * p.mss - p.unsent)


def is_available(case, p):
    fits = room(p) >= case.fit or room(p) >= Fraction(p.cwnd * p.mss, 8)
    return p.flags & SNDBUF and room(p) >= p.mss and fits


def algorithm_1(case, f, s):
    """Outcome ("wait" or "send", waiting afterwards), x_f not being available."""
    k = Fraction(case.pending, f.mss)
    delta = max(f.mdev, s.mdev)
    beta = Fraction(case.beta, 1000)
    n = 1 + k / f.cwnd
    if n * f.srtt < (1 + case.waiting * beta) * (s.srtt + delta):
        if k / s.cwnd * s.srtt >= 2 * f.srtt + delta:
            return "wait", 1
        return "send", case.waiting
    return "send", 0


def ecf(case):
    """All right answers: a set of (path, reason, waiting afterwards)."""
    same = case.waiting
    active = [i for i, p in enumerate(case.paths) if p.flags & ACTIVE]
    if not active:
        return {(WAIT, NO_SUBFLOW, same)}
    regular = [i for i in active if not case.paths[i].flags & BACKUP]
    alive = [i for i in regular or active if not case.paths[i].flags & LOSS]
    paths = case.paths
    available = [i for i in alive if is_available(case, paths[i])]
    if not available:
        return {(WAIT, NO_ROOM, same)}
    if case.pending > case.unit:
        new = [i for i in available if not (paths[i].srtt or paths[i].inflight or paths[i].unsent)]
        if new:
            return {(i, 0, same) for i in new}
    measured = [i for i in available if paths[i].srtt]
    if not measured:
        return {(i, 0, same) for i in available}

    def smallest(which):
        rtt = min(paths[i].srtt for i in which)
        return [i for i in which if paths[i].srtt == rtt]

    right = set()
    for f in smallest([i for i in alive if paths[i].srtt]):
        for s in smallest(measured):
            if f in available:
                right.add((f, 0, same))
            elif not (paths[f].inflight or paths[f].unsent):
                right.add((s, 0, same))
            else:
                what, waiting = algorithm_1(case, paths[f], paths[s])
                right.add((WAIT, FASTER, waiting) if what == "wait" else (s, 0, waiting))
    return right


def wrong(cases, answers, rights=None):
    """The (case, answer, right answers) that do not agree."""
    bad = []
    for case, a, right in zip(cases, answers, rights or map(ecf, cases)):
        reason = a.reason if a.path == WAIT else 0
        if (a.path, reason, a.waiting) not in right:
            bad.append((case, a, right))
    return bad


def any_state(rng, small):
    """A state with nothing special about it; small numbers meet often."""

    def number(lo, hi, few):
        if small:
            return rng.randint(lo, few)
        return max(lo, rng.choice([hi, rng.getrandbits(rng.randint(1, 64)) % hi]))

    paths = []
    for _ in range(rng.randint(1, 8)):
        p = Path_(
            srtt=number(1, (1 << 32) - 1, 6) if rng.random() < 0.9 else 0,
            mdev=number(0, (1 << 32) - 1, 4),
            cwnd=number(1, 1 << 31, 4),
            mss=number(1, 65535, 3),
            flags=ACTIVE | SNDBUF,
        )
        p.inflight = rng.choice([0, p.cwnd // 2, p.cwnd - 1, p.cwnd, p.cwnd])
        for flag in (ACTIVE, BACKUP, LOSS, SNDBUF):
            p.flags ^= flag if rng.random() < 0.06 else 0
        if rng.random() < 0.1:
            p.unsent = max(0, min(0xFFFFFFFF, room(p) - p.mss + rng.randint(-2, 2)))
        paths.append(p)
    return Case(
        paths=paths,
        beta=rng.choice([0, 250, 1000, 10000]),
        waiting=rng.randint(0, 1),
        pending=number(0, 1 << 63, 30),
        unit=rng.randint(0, 40),
    )


def boundary_state(rng):
    """x_f full, and k on, one byte below or one above where ECF turns.

    Numbers are chosen so that the turning point is often a whole number of
    bytes: there `<` and `<=` differ.
    """
    whole = rng.random() < 0.5
    bits = rng.randint(2, 31)

    def number(hi):
        value = rng.getrandbits(rng.randint(1, bits)) % hi
        return 1 << (value.bit_length() - 1) if whole and value else max(1, value)

    low, high = sorted((number(1 << 32), number(1 << 32)))
    f = Path_(srtt=low, cwnd=number(1 << 31), mss=number(65536))
    s = Path_(srtt=high + (low == high), cwnd=number(1 << 31), mss=number(65536))
    f.inflight, s.inflight = f.cwnd, rng.randrange(s.cwnd)
    rng.choice((f, s)).mdev = rng.choice([0, number(1 << 32)])
    case = Case(waiting=rng.randint(0, 1), beta=rng.choice([0, 250, 500, 1000, 10000]))
    delta = max(f.mdev, s.mdev)
    gain = 1 + case.waiting * Fraction(case.beta, 1000)
    if rng.random() < 0.5:
        k = (gain * (s.srtt + delta) / f.srtt - 1) * f.cwnd
    else:
        k = Fraction(2 * f.srtt + delta, s.srtt) * s.cwnd
    turn = k * f.mss
    case.pending = min(1 << 63, max(0, int(turn) + rng.choice([-1, 0, 0, 1])))
    case.unit = 0
    case.paths = [f, s] if rng.random() < 0.5 else [s, f]
    return case


def states(rng, count):
    for i in range(count):
        kind = i % 4
        case = boundary_state(rng) if kind < 2 else any_state(rng, kind == 2)
        case.op = ECF
        yield case


def quads(rng, count):
    """Operands (a, b, c, d) for a * b < c * d: edges, and near equality."""

    def number():
        if rng.random() < 0.4:
            return rng.choice(EDGE_NUMBERS)
        return rng.getrandbits(rng.randint(1, 64))

    for i in range(count):
        a, b = number(), number()
        if i % 3 == 0:
            yield a, b, b, a
        elif i % 3 == 1:
            yield a, b, b, min((1 << 64) - 1, max(0, a + rng.choice([-1, 1])))
        else:
            yield a, b, number(), number()


def wrong_products(quads, answers):
    return [
        (q, got)
        for q, got in zip(quads, answers)
        if got != (q[0] * q[1], q[0] * q[1] < q[2] * q[3])
    ]
