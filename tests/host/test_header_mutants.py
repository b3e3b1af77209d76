# SPDX-License-Identifier: GPL-2.0
"""Proof that the tests of estimates, copies and stores bite: wrong headers must be found out.

Each judge is a module whose faults(lib, seed, count) says what is wrong with a header.
"""

import headers
import hostlib
import mutants_of_rules
import mutants_of_state
import pytest

SEED = 7
JUDGES = mutants_of_state.JUDGES | mutants_of_rules.JUDGES
MUTANTS = mutants_of_state.MUTANTS | mutants_of_rules.MUTANTS
ALL = [(judge, name) for judge, some in MUTANTS.items() for name in some]


@pytest.fixture(scope="module")
def suspects(tmp_path_factory):
    """Of each mutant a future with its library; they are built side by side."""

    def make(which):
        judge, name = which
        header, source, *_ = JUDGES[judge]
        text, changed, _ = MUTANTS[judge][name]
        out = tmp_path_factory.getbasetemp() / "headers" / judge / name
        include = hostlib.altered(out, header, text, changed)
        flags = ["-O0", *hostlib.QUIET]
        return headers.build(source, out / "lib.so", include, flags)

    with hostlib.side_by_side(make, ALL) as found:
        yield found


@pytest.mark.parametrize("judge", JUDGES)
def test_no_fault_in_the_header(judge):
    """The control: with nothing changed, nothing is found."""
    _, source, module, count = JUDGES[judge]
    assert not module.faults(headers.plain(source), SEED, count)


@pytest.mark.parametrize(("judge", "name"), ALL)
def test_mutant_is_found(judge, name, suspects):
    *_, module, count = JUDGES[judge]
    lib, fault = suspects[judge, name].result(), MUTANTS[judge][name][2]
    # what is wrong everywhere is found in few states
    assert any(fault in module.faults(lib, SEED, n) for n in (count // 10, count))
