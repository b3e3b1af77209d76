# SPDX-License-Identifier: GPL-2.0
"""The records of one figure, found by scheduler and parameters."""

from mptcplab.measures import MEASURES
from mptcplab.process import LabError
from mptcplab.report import stats
from mptcplab.report.style import order, styles

INVALID = "invalid"
OBJECT = "object"  # as a parameter: the objects' names, of which the measure is the completion time


class Nothing(LabError):
    """There is nothing to draw."""


class Data:
    """The records of one figure, found by scheduler and parameters."""

    def __init__(self, figure, records):
        self.figure = figure
        wanted = figure["schedulers"]
        self.records = [
            r
            for r in records
            if all(r.at.get(k) == v for k, v in figure["where"].items())
            and (not wanted or r.cell.scheduler in wanted)
        ]
        if not any(r.valid for r in self.records):
            raise Nothing("no valid results")
        self.schedulers = order(r.cell.scheduler for r in self.records)
        self.style = styles(self.schedulers)
        self.measure = MEASURES.get(figure["measure"])

    def of(self, scheduler, **params):
        return [
            r
            for r in self.records
            if r.cell.scheduler == scheduler and all(r.at.get(k) == v for k, v in params.items())
        ]

    def mean(self, scheduler, **params):
        """stats.Mean; INVALID where something was measured that does not count; None."""
        name = params.pop(OBJECT, None)
        found = self.of(scheduler, **params)
        if not found:
            return None
        measure = self.figure["measure"]
        value = stats.mean([r.of_object(name) if name else r[measure] for r in found])
        return value or INVALID

    def values(self, name):
        """Of a parameter, in the order of the scenario; of the objects, their names."""
        if name == OBJECT:
            objects = (o for r in self.records if r.valid for o in r.result["objects"])
            return list(dict.fromkeys(o["name"] for o in objects))
        return list(dict.fromkeys(r.at[name] for r in self.records))

    def claim(self, scheduler, **params):
        for claim in self.figure["claims"]:
            if claim["scheduler"] == scheduler and all(
                params.get(k) == v for k, v in claim["at"].items()
            ):
                return claim["value"]
        return None

    @property
    def label(self):
        unit = self.figure["unit"] or self.measure.unit
        return self.measure.text + (f" ({unit})" if unit else "")
