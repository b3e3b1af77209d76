# SPDX-License-Identifier: GPL-2.0
"""What an outage did to a connection: pure functions of what the receiver noted.

Times are seconds of one clock. `arrivals`: (time, bytes) of each read of the application;
`messages`: (time due, seconds until all of it was there); `samples`: (time, payload bytes of the
victim so far); `stale`: (time, subflows given up so far). An event is at `out`, and over at `back`.
"""

import itertools

SETTLED = 1.0  # s after the event, from when on what is carried counts as that of the outage
WINDOW = 1.0  # s over which a rate is taken
FULL = 0.9  # of the rate before the event


def longest_gap(times, begin, end):
    """The longest time without an arrival that begins before `end` and ends after `begin`."""
    gaps = [b - a for a, b in itertools.pairwise(times) if b > begin and a < end]
    return max(gaps, default=None)


def worst_delay(messages, begin, end, late=True):
    """Of what was due before `end` and not there before `begin`; late False: and was by `end`."""
    found = [
        delay
        for due, delay in messages
        if due < end and due + delay >= begin and (late or due + delay < end)
    ]
    return max(found, default=None)


def rate(arrivals, begin, end):
    """Bytes per second that arrived between these times."""
    return sum(n for t, n in arrivals if begin <= t < end) / (end - begin)


def carries_after(samples, back):
    """Seconds until the victim brought data again; None: never."""
    for (_, before), (t, now) in itertools.pairwise(samples):
        if t > back and now > before:
            return t - back
    return None


def given_up_after(stale, out):
    """Seconds from the event until the sender counts one more subflow as given up; None: never."""
    for (_, before), (t, now) in itertools.pairwise(stale):
        if t > out and now > before:
            return t - out
    return None


def full_after(arrivals, back, end, want):
    """Seconds until the first second with FULL of `want` bytes/s begins; None: never."""
    step = WINDOW / 10
    begin = back
    while begin + WINDOW <= end:
        if rate(arrivals, begin, begin + WINDOW) >= FULL * want:
            return begin - back
        begin += step
    return None


def payload(received, packets):
    """Bytes of data at least in so many bytes of frames: headers take 94 at most."""
    return max(0, received - 94 * packets)


def figures(log, living):
    """The measures of one run, by name; None where there is nothing to say.

    log: begun, out, back, ended, arrivals, messages, samples, stale; living: bytes/s of the other path.
    """
    begun, out, back, ended = (log[k] for k in ("begun", "out", "back", "ended"))
    arrivals, messages = log["arrivals"], log["messages"]
    times = [t for t, _ in arrivals]
    found = {
        "gap_before": longest_gap(times, begun, out),
        "gap": longest_gap(times, out, back),
        "gap_after": longest_gap(times, back, ended),
        "carries": carries_after(log["samples"], back),
        "given_up": given_up_after(log["stale"], out),
    }
    if messages is None:
        before = rate(arrivals, begun, out)
        return found | {
            "rate_before": before,
            "share_out": rate(arrivals, min(out + SETTLED, back), back) / living,
            "full": full_after(arrivals, back, ended, before),
        }
    return found | {
        "delay_before": worst_delay(messages, begun, out, late=False),
        "delay": worst_delay(messages, out, back),
        "delay_after": worst_delay([m for m in messages if m[0] >= back], back, ended),
    }
