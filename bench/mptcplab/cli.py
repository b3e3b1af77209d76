# SPDX-License-Identifier: GPL-2.0
"""The lab and the benchmarks: `python3 -m mptcplab COMMAND [OPTION...]`, with bench/ in PYTHONPATH.

the lab: experiments over emulated paths, in guests whose clock is virtual
  run [SCENARIO...]      measures what is not measured yet, then writes the report
  report [RESULTS...]    the report of what there is
  compare A B            what got better or worse from one result file to another
  list                   the scenarios
  readme [DEMO.json]     the README's table and picture, from a result of the demo
  events [OUTAGE.json]   the table of paths that fail in each way, from a result of outage
  guest PLAN STREAM      the part of `run` in a guest

one guest, one table
  demo      downloads over three pairs of paths, the README's table
  cost      what a decision costs: instructions, state, memory of the command
  segments  what plain TCP pays per segment for schedulers that are loaded
  speed     throughput where nothing but the CPU bounds it, against the kernel's default
  quality   completion times of downloads over pairs of unlike paths, and what the project promises
  bulk      goodput of long transfers in both directions, against the kernel's default
  stress    long transfers over paths that lose, reorder and fail: does all of it arrive?
  outage    a path that fails and comes back: gaps, delays, and when it is used again
  pause     the download after a pause: how far did the windows fall?
  timeline  what each path brought when, in one download, and a picture of each decision
  many      what show and stats take among 1,000 namespaces and 10,000 connections
  soak      connections by the million: does anything grow?
"""

import importlib
import sys

from mptcplab import result

LAB = ("run", "report", "compare", "list", "readme", "events")
BENCHMARKS = (
    "demo",
    "cost",
    "segments",
    "speed",
    "quality",
    "bulk",
    "stress",
    "outage",
    "pause",
    "timeline",
    "many",
    "soak",
)


def main(words):
    if not words or words[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if words else 2
    name, *rest = words
    # Only what is asked for: a guest has not all that the others need.
    if name in BENCHMARKS:
        benchmark = importlib.import_module(f"mptcplab.benchmarks.{name}")
        return result.guarded(name, benchmark.run, rest)
    if name in LAB:
        return importlib.import_module("mptcplab.commands").main(name, rest)
    if name == "guest":
        return importlib.import_module("mptcplab.guest.run").run(*rest)
    known = " ".join((*LAB, "guest", *BENCHMARKS))
    print(f"lab: no command {name!r}, there are: {known}", file=sys.stderr)
    return 2
