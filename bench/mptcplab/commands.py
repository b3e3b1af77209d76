#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The lab: experiments over emulated paths, in guests whose clock is virtual.

lab.py run [SCENARIO...]      measures what is not measured yet, then writes the report
lab.py report [RESULTS...]    the report of what there is
lab.py compare A B            what got better or worse from one result file to another
lab.py list                   the scenarios
"""

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "lib"), str(HERE)]

import plan
import supervise
import twice
from scenario import ScenarioError, load_all


def run(argv):
    p = argparse.ArgumentParser(
        prog="vmtest.sh bench", description="Measures scenarios."
    )
    add = p.add_argument
    add("scenario", nargs="*", help="default: those that say so; `all` is all of them")
    add("--scheduler", action="append", metavar="WORD", help=plan.SPELLING)
    add("--seed", action="append", type=int, help="instead of the scenario's own")
    add("--only", action="append", metavar="KEY=VALUE",
        help="cells with that parameter, such as wifi=0.3 or run=0; several values of a key: any")  # fmt: skip
    add("--full", action="store_true", help="the papers' own lengths and repetitions")
    add("--kernel", required=True, help=argparse.SUPPRESS)
    add("--commit", help=argparse.SUPPRESS)
    add("--guests", type=int, default=2, help="how many at once (2)")
    add("--timeout", type=int, default=86400, help="seconds for all of it (a day)")
    add("--memory", type=int, default=2048, help="MB of each guest (2048)")
    add("--out", help="name of the result file (lab-KERNEL)")
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
    from report import page

    p = argparse.ArgumentParser(prog="vmtest.sh bench report")
    p.add_argument(
        "results", nargs="*", type=Path, help="result files (all in build/out)"
    )
    p.add_argument("--to", type=Path, help="folder (build/out/report)")
    args = p.parse_args([str(a) for a in argv])
    print(page.write(args.results or plan.all_results(), args.to))
    return 0


def compare(argv):
    from report import compare as tables

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


COMMANDS = {"run": run, "report": report, "compare": compare, "list": listing}


def main(argv):
    if not argv or argv[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if argv else 2
    if argv[0] not in COMMANDS:
        print(
            f"lab: no command {argv[0]!r}, there are: {' '.join(COMMANDS)}",
            file=sys.stderr,
        )
        return 2
    try:
        return COMMANDS[argv[0]](argv[1:])
    except (ScenarioError, plan.PlanError, OSError) as e:
        print(f"lab: {e}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
