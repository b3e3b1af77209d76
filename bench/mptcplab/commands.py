# SPDX-License-Identifier: GPL-2.0
"""The lab's commands: run, report, compare, list, readme; see cli.py."""

import argparse
import sys
from pathlib import Path

from mptcplab import plan, records, supervise, twice
from mptcplab.lab.netlab import GSO
from mptcplab.scenario import load_all
from mptcplab.schema import ScenarioError


def run(argv):
    p = argparse.ArgumentParser(prog="vmtest.sh bench", description="Measures scenarios.")
    add = p.add_argument
    add("scenario", nargs="*", help="default: those that say so; `all` is all of them")
    add("--scheduler", action="append", metavar="WORD", help=plan.SPELLING)
    add("--seed", action="append", type=int, help="instead of the scenario's own")
    add(
        "--only",
        action="append",
        metavar="KEY=VALUE",
        help="cells with that parameter, such as wifi=0.3 or run=0; several values of a key: any",
    )
    add("--draw", metavar="WORD", help="seed of cells that are drawn by lot (the release)")
    add("--gso", action="store_true", help=GSO)
    add("--full", action="store_true", help="the papers' own lengths and repetitions")
    add("--kernel", required=True, help=argparse.SUPPRESS)
    add("--commit", help=argparse.SUPPRESS)
    add("--guests", type=int, default=2, help="how many at once (2)")
    add("--timeout", type=int, default=86400, help="seconds for all of it (a day)")
    add("--memory", type=int, default=2048, help="MB of each guest (2048)")
    add("--out", help="name of the result file (lab-KERNEL, or gso-KERNEL with --gso)")
    add("--again", action="store_true", help="measures again what failed or is invalid")
    add(
        "--twice",
        action="store_true",
        help="all of it two times: what is not the same to the last digit is invalid",
    )
    add("--no-report", action="store_true")
    args = p.parse_args(argv)
    made = plan.make(args)
    status = (twice.run if args.twice else supervise.run)(made, args)
    if not args.no_report:
        report([made.results])
    return status


def report(argv):
    # Loads what draws, which takes seconds: only who wants a report waits for it.
    from mptcplab.report import page

    p = argparse.ArgumentParser(prog="vmtest.sh bench report")
    p.add_argument("results", nargs="*", type=Path, help="result files (all in build/out)")
    p.add_argument("--to", type=Path, help="folder (build/out/report)")
    args = p.parse_args([str(a) for a in argv])
    print(page.write(args.results or records.all_results(), args.to))
    return 0


def compare(argv):
    # Loads SciPy.
    from mptcplab.report import compare as tables

    p = argparse.ArgumentParser(prog="vmtest.sh bench compare")
    p.add_argument("a", type=Path)
    p.add_argument("b", type=Path)
    p.add_argument("--all", action="store_true", help="also cells that did not change")
    args = p.parse_args(argv)
    print("\n".join(tables.lines(args.a, args.b, args.all)))
    return 0


def listing(argv):
    argparse.ArgumentParser(prog="vmtest.sh bench list").parse_args(argv)
    for name, one in load_all().items():
        cells = len(one.cells(["default"]))
        print(
            f"{name:<22}{'default ' if one.default else '':<9}{cells:>4} cells per scheduler  {one.title}"
        )
    return 0


def readme(argv):
    from mptcplab.report import readme as page

    p = argparse.ArgumentParser(prog="vmtest.sh bench readme")
    p.add_argument("demo", nargs="?", type=Path, help="its result (bench/results/demo.json)")
    p.add_argument("outage", nargs="?", type=Path, help="(bench/results/outage.json)")
    args = p.parse_args(argv)
    page.write(args.demo, args.outage)
    return 0


def events(argv):
    from mptcplab.report import events as table
    from mptcplab.report import modes

    p = argparse.ArgumentParser(prog="vmtest.sh bench events")
    p.add_argument("outage", nargs="?", type=Path, help="(bench/results/outage-events.json)")
    outage = p.parse_args(argv).outage
    (modes if outage and modes.is_of_modes(outage) else table).write(outage)
    return 0


COMMANDS = {
    "run": run,
    "report": report,
    "compare": compare,
    "list": listing,
    "readme": readme,
    "events": events,
}


def main(name, argv):
    try:
        return COMMANDS[name](argv)
    except (ScenarioError, records.PlanError, OSError) as e:
        print(f"lab: {e}", file=sys.stderr)
        return 2
