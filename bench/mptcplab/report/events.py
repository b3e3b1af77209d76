# SPDX-License-Identifier: GPL-2.0
"""The table of docs/results/lab.md about a path that fails in each way, from a result of `bench outage`.

`python3 -m mptcplab events build/out/outage-KERNEL.json` takes what it needs into bench/results, and
writes the table anew; without a file it takes what is there.
"""

from mptcplab.places import SRC
from mptcplab.report import readme

RESULT = SRC / "bench/results/outage-events.json"
PAGE = SRC / "docs/results/lab.md"
BEGIN = "<!-- events: bench/mptcplab/report/events.py -->\n"
# What is told of each load, in ms.
LOADS = {
    "bulk": ("gap", "bulk stands still"),
    "stream": ("delay", "a stream's delay"),
    "rr64": ("delay", "answers of 64 KB"),
}
NAMES = {"plain TCP": "TCP", "default": "default", "bpf_auto": "auto"}
WIDTH = 8  # of a figure


def lines_of(told):
    words = readme.distinct(told["results"], "scheduler")
    events = readme.distinct(told["results"], "event")
    yield "```"
    groups = "".join(f"{text:>{WIDTH * len(words)}}" for _, text in LOADS.values())
    yield f"{'':14}  {'':5}{groups}"
    yield f"{'event':14}  fails" + "".join(f"{NAMES[w]:>{WIDTH}}" for w in words) * len(LOADS)
    for event in events:
        for victim, rtt in enumerate(told["rtt"]):
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
    told = readme.kept(RESULT, result, readme.condensed_outage)
    readme.put(BEGIN, lines_of(told), PAGE)
