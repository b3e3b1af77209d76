# SPDX-License-Identifier: GPL-2.0
"""A [[path]] of a scenario's file, and the path that it is in a cell."""

import math
import random
import re

from mptcplab.cell import Change
from mptcplab.path import CODEL, FRAME
from mptcplab.path import Path as NetPath
from mptcplab.schema import NUMBER, ROLES, ScenarioError, value_of

CHANGEABLE = ("mbit", "rtt_ms", "loss")
SHORTEST = 20  # packets that a queue of so many BDP holds at least
NAME = re.compile(r"[a-z][a-z0-9]{0,8}")


class PathSpec:
    """A path as the file has it: numbers may depend on parameters."""

    FIELDS = (
        "mbit",
        "rtt_ms",
        "out_ms",
        "back_ms",
        "loaded_rtt_ms",
        "limit",
        "queue_ms",
        "queue_bdp",
        "jitter_ms",
        "loss",
    )

    def __init__(self, table, trunk=False):
        self.where = table.where
        self.name = table.take("name", str, needed=True)
        if not NAME.fullmatch(self.name) or self.name in (
            *ROLES,
            "net",
            "lo",
            "uplink",
            "both",
        ):
            table.fail(
                "name",
                f"{self.name!r}: up to nine small letters and digits, and not a role's name",
            )
        raw = {key: table.take(key, (*NUMBER, str, dict)) for key in self.FIELDS}
        self.raw = {k: v for k, v in raw.items() if v is not None}
        if "mbit" not in self.raw:
            table.fail("mbit", "missing")
        if ("out_ms" in self.raw) != ("back_ms" in self.raw) or {
            "rtt_ms",
            "out_ms",
        } <= set(self.raw):
            table.fail("out_ms", "goes with back_ms and without rtt_ms")
        if len({"loaded_rtt_ms", "limit", "queue_ms", "queue_bdp"} & set(self.raw)) > 1:
            table.fail("limit", "one of limit, queue_ms, queue_bdp and loaded_rtt_ms")
        self.aqm = table.take("aqm", str, "")
        if self.aqm not in ("", CODEL):
            table.fail("aqm", f"{self.aqm!r} is not {CODEL}")
        self.loss_to = table.take("loss_to", str, "")
        self.local = table.take("local", str, "")
        for key in ("loss_to", "local"):
            if getattr(self, key) not in ("", *ROLES):
                table.fail(key, f"{getattr(self, key)!r} is not {' or '.join(ROLES)}")
        self.changes, self.ramp, self.random = [], None, None
        if not trunk:
            self._variation(table)
        if self.aqm and (
            trunk or self.local or "jitter_ms" in self.raw or "loaded_rtt_ms" in self.raw
        ):
            table.fail("aqm", "not of a trunk, nor with local, jitter_ms or loaded_rtt_ms")
        for key in ("local", "aqm"):
            if getattr(self, key) and (self.changes or self.ramp or self.random):
                table.fail(key, "such a path cannot change")
        table.end()

    def _variation(self, table):
        for change in table.tables("change"):
            at = change.take("at", NUMBER, needed=True)
            found = {k: change.take(k, NUMBER) for k in CHANGEABLE}
            found = {k: v for k, v in found.items() if v is not None}
            if not found:
                change.fail("at", f"with one of {', '.join(CHANGEABLE)}")
            self.changes += [Change(at, k, v) for k, v in found.items()]
            change.end()
        if "ramp" in table.left:
            self.ramp = self._taken(table.table("ramp"), ("to", "begin", "end", "steps"))
            if not (self.ramp["steps"] >= 1 and self.ramp["end"] > self.ramp["begin"]):
                table.fail("ramp", "has no steps or no length")
        if "random" in table.left:
            self.random = self._taken(table.table("random"), ("mean_s",), ("choices",))
            if self.random["mean_s"] <= 0 or not self.random["choices"]:
                table.fail("random", "mean_s must be above 0, choices not empty")

    @staticmethod
    def _taken(table, numbers, lists=()):
        found = {"what": table.take("what", str, needed=True)}
        if found["what"] not in CHANGEABLE:
            table.fail("what", f"{found['what']!r} is not one of {', '.join(CHANGEABLE)}")
        found |= {k: table.take(k, NUMBER, needed=True) for k in numbers}
        found |= {k: table.take(k, list, needed=True) for k in lists}
        table.end()
        return found

    def path(self, params):
        """The path in one cell."""
        raw = {}
        for key, value in self.raw.items():
            raw[key] = value_of(value, params, f"{self.where}.{key}")
            if not isinstance(raw[key], NUMBER) or not math.isfinite(raw[key]) or raw[key] < 0:
                raise ScenarioError(
                    f"{self.where}.{key}: {raw[key]!r} is not a number of 0 or more"
                )
        if raw["mbit"] <= 0:
            raise ScenarioError(f"{self.where}.mbit: must be above 0")
        if raw.get("loss", 0) > 100:
            raise ScenarioError(f"{self.where}.loss: {raw['loss']} per cent")
        rtt = raw.get("rtt_ms", raw.get("out_ms", 0) + raw.get("back_ms", 0))
        skew = raw["out_ms"] - raw["back_ms"] if "out_ms" in raw else 0
        if raw.get("jitter_ms", 0) > (rtt - abs(skew)) / 2:
            raise ScenarioError(f"{self.where}.jitter_ms: more than the delay of one direction")
        return NetPath(
            self.name,
            mbit=raw["mbit"],
            rtt_ms=rtt,
            skew_ms=skew,
            loss=raw.get("loss", 0),
            limit=self._limit(raw, rtt),
            jitter_ms=raw.get("jitter_ms", 0),
            loss_to=self.loss_to,
            local=self.local,
            aqm=self.aqm,
        )

    def _limit(self, raw, rtt):
        """Packets that the queue holds, those on their way among them (netem counts both)."""
        per_ms = raw["mbit"] * 1e3 / 8 / FRAME
        # the delay is a queue of its own there
        under_way = 0 if self.aqm else per_ms * rtt / 2
        if "loaded_rtt_ms" in raw:
            if raw["loaded_rtt_ms"] <= rtt:
                raise ScenarioError(
                    f"{self.where}.loaded_rtt_ms: not above the RTT without load, {rtt} ms"
                )
            return math.ceil(per_ms * (raw["loaded_rtt_ms"] - rtt / 2))
        if "queue_ms" in raw:
            return math.ceil(per_ms * raw["queue_ms"] + under_way)
        if "queue_bdp" in raw:
            waiting = max(SHORTEST, per_ms * rtt * raw["queue_bdp"])
            return math.ceil(waiting + under_way)
        if "limit" in raw and raw["limit"] < 1:
            raise ScenarioError(f"{self.where}.limit: a queue of less than one packet")
        # netem's packets on their way come on top of what the file means by a queue.
        return int(raw.get("limit", 100)) + (0 if self.local else math.ceil(under_way))

    def schedule(self, path, seed, seconds):
        """Its changes during a run of that length, in their order."""
        found = list(self.changes)
        if self.ramp:
            ramp, first = self.ramp, getattr(path, self.ramp["what"])
            for i in range(1, int(ramp["steps"]) + 1):
                part = i / ramp["steps"]
                at = ramp["begin"] + part * (ramp["end"] - ramp["begin"])
                found.append(Change(at, ramp["what"], first + part * (ramp["to"] - first)))
        if self.random:
            rng = random.Random(f"{seed} {self.name}")
            at = 0.0
            # The first value is drawn as well, so that a scenario is nothing but its seed.
            while at < seconds:
                found.append(Change(at, self.random["what"], rng.choice(self.random["choices"])))
                at += rng.expovariate(1 / self.random["mean_s"])
        return sorted(found, key=lambda c: c.at)
