# SPDX-License-Identifier: GPL-2.0
"""Coverage is told of the files that are meant, and CONTRIBUTING.md has the last run (tests/covered.py).

The run itself is ./vmtest.sh coverage: it takes minutes, and clang's runtime library.
"""

import json

import covered
import pytest
from hostlib import TOP

RESULT = TOP / "bench/results/coverage.json"


def test_the_documentation_has_the_last_table():
    told = json.loads(RESULT.read_text())
    text = (TOP / "CONTRIBUTING.md").read_text()
    assert "\n".join(covered.table(told["rows"])) in text
    assert f"at {told['commit']}, {told['date']}" in text
    assert [row["what"] for row in told["rows"]] == list(covered.GROUPS)


def test_what_is_told_of_is_there():
    for patterns in covered.GROUPS.values():
        for pattern in patterns:
            assert list(TOP.glob(pattern)), pattern


def test_the_tests_that_compile_something():
    names = {module.stem.removeprefix("test_") for module in covered.modules()}
    policies = {f.stem for f in (TOP / "include/policy").glob("*.h")}
    assert {"blest", "cfs", "daps", "redundant", "rr", "steer", "thin"} <= names & policies
    assert {"decisions", "text", "steer_rows", "steer_table", "trace"} <= names
    assert not names & {"deb", "docs", "mutants", "header_mutants", "lab_cli"}


def test_the_targets_that_read_what_others_wrote():
    targets = covered.targets()
    assert {"arguments", "configuration", "containers", "steering"} <= set(targets)
    assert not {"ranges", "estimates", "object"} & set(targets)


@pytest.fixture
def counted():
    """As llvm-cov tells it: of each group's files ten lines, of which four were run."""
    patterns = [p for group in covered.GROUPS.values() for p in group]
    return {str(path): (10, 4) for pattern in patterns for path in TOP.glob(pattern)}


def test_files_are_summed_up_by_group(counted):
    rows = covered.grouped(counted | {str(TOP / "loader/main.c"): (1000, 0)})
    policies = len([*TOP.glob("include/policy/*.h"), *TOP.glob("include/common/*.h")])
    assert rows[0] == {
        "what": "decisions",
        "files": policies,
        "lines": 10 * policies,
        "run": 4 * policies,
    }
    assert all(line.endswith("| 40.0 % |") for line in list(covered.table(rows))[2:])


def test_a_group_that_nobody_ran_is_no_figure(counted):
    only = {name: lines for name, lines in counted.items() if "/loader/" not in name}
    with pytest.raises(covered.Uncounted, match=r"nothing of .*loader/cli/config.c .*was run"):
        covered.grouped(only)
    state = str(TOP / "include/state")
    idle = {name: (10, 0) if name.startswith(state) else lines for name, lines in counted.items()}
    assert covered.grouped(idle)
    estimates = str(TOP / "include/model")
    idle |= {name: (10, 0) for name in counted if name.startswith(estimates)}
    with pytest.raises(covered.Uncounted, match="nothing of estimates and state was run"):
        covered.grouped(idle)
    with pytest.raises(covered.Uncounted, match="exit status 1: false"):
        covered.run(["false"])
