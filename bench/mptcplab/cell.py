# SPDX-License-Identifier: GPL-2.0
"""One measurement: what a scenario comes down to, and what a result is the result of."""

import dataclasses
import random

from mptcplab.path import Path as NetPath


@dataclasses.dataclass(frozen=True)
class Change:
    """What a path is from `at` seconds on."""

    at: float
    what: str
    value: float


@dataclasses.dataclass(frozen=True)
class Cell:
    """One measurement, with everything that it depends on but the machine."""

    scenario: str
    form: str
    params: dict
    scheduler: str
    seed: int
    run: int
    paths: tuple  # of NetPath
    trunk: tuple
    changes: dict  # path name: [Change]
    workload: dict
    at: tuple
    capture: bool
    sysctl: dict
    costly: str = ""  # name of the path whose bytes are counted by themselves
    tables: str = ""  # of steering
    gso: bool = False  # the ends' devices cut TCP's large packets

    def spec(self):
        """The same as plain data."""
        return dataclasses.asdict(self)

    def states(self):
        """Every path as it is at some time: at all its rates, and with the last of its delays."""
        for path in self.paths:
            yield path
            changes = self.changes.get(path.name, ())
            for change in (*(c for c in changes if c.what == "mbit"), *changes[-1:]):
                if change.what != "loss":
                    yield dataclasses.replace(path, **{change.what: change.value})

    @property
    def rng(self):
        """Of whatever a workload draws; the same for each scheduler."""
        return random.Random(f"{self.scenario} {self.seed} {self.run}")

    def __str__(self):
        params = " ".join(f"{k}={v}" for k, v in self.params.items())
        return " ".join(
            filter(
                None,
                (self.scenario, params, self.scheduler, f"seed {self.seed}.{self.run}"),
            )
        )


def cell_from(spec):
    """The cell of Cell.spec()."""
    spec = dict(spec)
    for key in ("paths", "trunk"):
        spec[key] = tuple(NetPath(**p) for p in spec[key])
    spec["changes"] = {n: [Change(**c) for c in cs] for n, cs in spec["changes"].items()}
    spec["at"] = tuple(spec["at"])
    return Cell(**spec)
