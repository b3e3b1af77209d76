# SPDX-License-Identifier: GPL-2.0
"""Means with their 95 % confidence intervals (Student's t), and what is paired by seed."""

import dataclasses
import math
import statistics

from scipy import stats

LEVEL = 0.95


@dataclasses.dataclass(frozen=True)
class Mean:
    value: float
    half: float | None  # of the interval; None: one value has no spread
    count: int

    def __format__(self, spec):
        text = format(self.value, spec)
        return text if self.half is None else f"{text} ± {format(self.half, spec)}"


def mean(values):
    values = [v for v in values if v is not None]
    if not values:
        return None
    if len(values) == 1:
        return Mean(values[0], None, 1)
    t = stats.t.ppf((1 + LEVEL) / 2, len(values) - 1)
    half = t * statistics.stdev(values) / math.sqrt(len(values))
    return Mean(statistics.fmean(values), half, len(values))


@dataclasses.dataclass(frozen=True)
class Ratio:
    """A geometric mean of ratios, with its interval."""

    value: float
    low: float | None
    high: float | None
    count: int

    @property
    def clear(self):
        """The interval does not hold 1."""
        return self.low is not None and not self.low <= 1 <= self.high


def ratio(pairs):
    """Of pairs (a, b) that belong together; None without any."""
    logs = [math.log(a / b) for a, b in pairs if a and b and a > 0 and b > 0]
    found = mean(logs)
    if not found:
        return None
    if found.half is None:
        return Ratio(math.exp(found.value), None, None, 1)
    low, high = (math.exp(found.value + s * found.half) for s in (-1, 1))
    return Ratio(math.exp(found.value), low, high, found.count)
