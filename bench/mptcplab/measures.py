# SPDX-License-Identifier: GPL-2.0
"""The measures of a record, by their names: what figures and comparisons are made of."""

import dataclasses
import statistics

from mptcplab import fluid, workloads
from mptcplab.schema import PARTS


@dataclasses.dataclass(frozen=True)
class Measure:
    text: str
    unit: str
    smaller: bool | None  # is better; None: neither
    of: object  # cell, result -> a number or None


def _objects(result):
    return result.get("objects") or []


def _completion(_, result):
    times = [o["seconds"] for o in _objects(result)]
    return statistics.fmean(times) if times else None


def _slowest(_, result):
    """The time that 99 % of the objects stay within; of up to 100 that is the slowest."""
    times = sorted(o["seconds"] for o in _objects(result))
    return times[min(len(times) - 1, int(0.99 * len(times)))] if times else None


def _value(name):
    return lambda _, result: result["values"].get(name)


def _delivered(result):
    return sum(o["bytes"] for o in _objects(result)) + result["values"].get("beside_bytes", 0)


def _fast_share(cell, result):
    got = result["counted"]["received"]
    return got[workloads.fast(cell)] / sum(got) if sum(got) else None


def _costly(cell, result):
    """Megabytes that came over the path that costs; None without one."""
    names = [p.name for p in cell.paths]
    if not cell.costly:
        return None
    return result["counted"]["received"][names.index(cell.costly)] * 1e-6


def _costly_share(cell, result):
    found, whole = _costly(cell, result), sum(result["counted"]["received"]) * 1e-6
    return found / whole if found is not None and whole else None


def _late(cell, result):
    """Part of the objects that took longer than the workload's deadline; None without one."""
    limit, times = cell.workload.get("deadline_s"), [o["seconds"] for o in _objects(result)]
    return sum(t > limit for t in times) / len(times) if limit and times else None


def _fast_ideal(cell, result):
    sums = [0.0] * len(cell.paths)
    for one in _objects(result):
        shares = fluid.fluid_shares(one["bytes"], cell.paths)
        sums = [a + b for a, b in zip(sums, shares, strict=True)]
    return sums[workloads.fast(cell)] / sum(sums) if sum(sums) else None


def _wire(_, result):
    size = _delivered(result)
    return sum(result["counted"]["sent"]) / size if size else None


def _fast_idle(cell, result):
    """Part of the time in which something was wanted that the fast path carried nothing."""
    i = workloads.fast(cell)
    path = cell.paths[i]
    could = 0.0
    for begin, end in result.get("active", ()):
        could += sum(
            s * r for s, r in fluid.rates(path, cell.changes.get(path.name, ()), begin, end)
        )
    carried = result["counted"]["received"][i] * 8e-6
    return max(0.0, 1 - carried / could) if could else None


def _resets(_, result):
    return sum(p["idle"] + p["timeout"] for p in result["counted"]["cwnd_resets"])


def _fast_resets(cell, result):
    path = result["counted"]["cwnd_resets"][workloads.fast(cell)]
    return path["idle"] + path["timeout"]


def _ooo(part=None):
    def of(_, result):
        found = result.get("capture") or {}
        if part is None or "quantiles_s" not in found:
            return found.get("mean_s")
        return found["quantiles_s"][PARTS.index(part)]

    return of


MEASURES = {
    "completion_s": Measure("completion time", "s", True, _completion),
    "completion_p99_s": Measure(
        "99 % of the objects within (of up to 100: the slowest)", "s", True, _slowest
    ),
    "bitrate_mbit": Measure("average bit rate", "Mbit/s", False, _value("bitrate_mbit")),
    "bitrate_ratio": Measure("average bit rate / ideal", "", False, _value("bitrate_ratio")),
    "throughput_mbit": Measure(
        "throughput while downloading", "Mbit/s", False, _value("throughput_mbit")
    ),
    "throughput_ratio": Measure(
        "throughput / sum of the rates", "", False, _value("throughput_ratio")
    ),
    "stalled_s": Measure("playback stood still", "s", True, _value("stalled_s")),
    "goodput_mbit": Measure("goodput", "Mbit/s", False, _value("goodput_mbit")),
    "goodput_ratio": Measure("goodput / fluid bound", "", False, _value("goodput_ratio")),
    "rtt_ms": Measure("application RTT, mean", "ms", True, _value("rtt_ms")),
    "rtt_p99_ms": Measure("application RTT, 99 %", "ms", True, _value("rtt_p99_ms")),
    "rtt_max_ms": Measure("application RTT, worst", "ms", True, _value("rtt_max_ms")),
    "beside_mbit": Measure(
        "goodput of the bulk flow beside", "Mbit/s", False, _value("beside_mbit")
    ),
    "fast_share": Measure("share of the traffic on the fast path", "", None, _fast_share),
    "fast_ideal": Measure("the fluid's share on the fast path", "", None, _fast_ideal),
    "fast_idle": Measure("idle time of the fast path", "", True, _fast_idle),
    "costly_mb": Measure("on the path that costs", "MB", True, _costly),
    "costly_share": Measure("share of the traffic on the path that costs", "", True, _costly_share),
    "late": Measure("later than the deadline", "", True, _late),
    "wire_per_byte": Measure("bytes on the wire / delivered", "", True, _wire),
    "cwnd_resets": Measure("resets of congestion windows", "", True, _resets),
    "fast_resets": Measure("resets of the fast path's window", "", True, _fast_resets),
    "ooo_mean_s": Measure("out-of-order delay, mean", "s", True, _ooo()),
    "ooo_p99_s": Measure("out-of-order delay, 99 %", "s", True, _ooo(0.99)),
}
