# SPDX-License-Identifier: GPL-2.0
"""The tables of docs/results/lab.md about a path that fails, from results of `bench outage`.

One is of two paths that fail in each way, one of three. `python3 -m mptcplab events
build/out/outage-KERNEL.json` takes what it needs of either into bench/results, and writes its table
anew; without a file it takes what is there.
"""

import json

from mptcplab.places import SRC
from mptcplab.report import readme

RESULTS = {  # by the number of paths
    2: SRC / "bench/results/outage-events.json",
    3: SRC / "bench/results/outage-three.json",
}
PAGE = SRC / "docs/results/lab.md"
BEGINS = {
    2: "<!-- events: bench/mptcplab/report/events.py -->\n",
    3: "<!-- three paths: bench/mptcplab/report/events.py -->\n",
}
# What is told of each load, in ms.
LOADS = {
    "bulk": ("gap", "bulk's longest gap"),
    "stream": ("delay", "a stream's delay"),
    "rr64": ("delay", "answers of 64 KB"),
}
WIDTH = 8  # of a figure
NAMES = {"plain TCP": "TCP", "default": "default"}


def name_of(word):
    return NAMES.get(word, word.removeprefix("bpf_"))


def lines_of(told):
    words = readme.distinct(told["results"], "scheduler")
    events = readme.distinct(told["results"], "event")
    yield "```"
    groups = "".join(f"{text:>{WIDTH * len(words)}}" for _, text in LOADS.values())
    yield f"{'':14}  {'':5}{groups}"
    yield f"{'event':14}  fails" + "".join(f"{name_of(w):>{WIDTH}}" for w in words) * len(LOADS)
    for event in events:
        for victim in readme.distinct(told["results"], "victim"):
            rtt = told["rtt"][victim]
            figures = [
                readme.worst_ms(told, key, load=load, event=event, victim=victim, scheduler=word)
                for load, (key, _) in LOADS.items()
                for word in words
            ]
            row = "".join(f"{ms:>{WIDTH}.0f}" for ms in figures)
            yield f"{event:14}  {rtt:2g} ms{row}"
    yield "```"
    yield ""
    seeds = len(readme.distinct(told["results"], "seed"))
    yield (
        f"Linux {told['kernel']}, {told['date']}, {told['commit']}, virtual time,"
        f" {'one seed' if seeds == 1 else f'the worst of {seeds} seeds'}."
    )
    yield readme.OWN_LOSSES


def write(result=None):
    """result: of one of the tables; None: both anew of what is there."""
    paths = len(json.loads(result.read_text())["arguments"]["rtt"]) if result else None
    for number, file in RESULTS.items():
        told = readme.kept(file, result if number == paths else None, readme.condensed_outage)
        readme.put(BEGINS[number], lines_of(told), PAGE)
