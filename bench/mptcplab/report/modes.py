# SPDX-License-Identifier: GPL-2.0
"""The table of docs/results/steering.md about modes and a path that fails, from a result of `bench outage`."""

import json

from mptcplab.places import SRC
from mptcplab.report import readme
from mptcplab.table import table

RESULT = SRC / "bench/results/outage-steering.json"
PAGE = SRC / "docs/results/steering.md"
BEGIN = "<!-- modes: bench/mptcplab/report/modes.py -->\n"
LOADS = {"bulk": ("gap", "bulk"), "stream": ("delay", "stream")}


def is_of_modes(result):
    rows = json.loads(result.read_text())["results"]
    return any("@" in r["scheduler"] for r in rows)


def lines_of(told):
    rows = told["results"]
    cases = [
        (load, key, text, victim)
        for load, (key, text) in LOADS.items()
        for victim in readme.distinct(rows, "victim")
    ]
    head = [f"{text}, {told['rtt'][victim]:g} ms" for _, _, text, victim in cases]
    body = [
        [
            word,
            *(
                f"{readme.worst_ms(told, key, load=load, victim=victim, scheduler=word):.0f}"
                for load, key, _, victim in cases
            ),
        ]
        for word in readme.distinct(rows, "scheduler")
    ]
    yield "```"
    yield from table(["path that fails", *head], body)
    yield "```"
    yield ""
    yield f"Linux {told['kernel']}, {told['date']}, {told['commit']}, virtual time, one seed."
    yield readme.OWN_LOSSES


def write(result=None):
    readme.put(BEGIN, lines_of(readme.kept(RESULT, result, readme.condensed_outage)), PAGE)
