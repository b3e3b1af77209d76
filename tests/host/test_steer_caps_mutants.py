# SPDX-License-Identifier: GPL-2.0
"""Caps and periods with one thing wrong each: test_steer_caps.py finds that."""

import hostlib
import pytest
import test_steer_caps as judge
from steering import suspects_of

MUTANTS = {
    "cap-ignored-by-rank": (
        "policy/steer_key.h",
        " | cap * MPS_STEER_KEY_CAP",
        "",
        judge.test_no_data_over_the_cap_while_another_path_lives,
    ),
    "cap-ignored": (
        "policy/steer_key.h",
        "cap << 3 | ",
        "",
        judge.test_no_data_over_the_cap_while_another_path_lives,
    ),
    "cap-before-backups": (
        "policy/steer_key.h",
        "cap << 3",
        "cap << 1",
        judge.test_no_data_over_the_cap_while_another_path_lives,
    ),
    "cap-before-recovery": (
        "policy/steer_key.h",
        "MPS_STEER_KEY_CAP = 1 << 11",
        "MPS_STEER_KEY_CAP = 1 << 9",
        judge.test_no_data_over_the_cap_while_another_path_lives,
    ),
    "not-noted": (
        "policy/steer.h",
        "notes |= mps_steer_is_over_cap(p) << MPS_NOTE_OVER_CAP;",
        "",
        judge.test_no_data_over_the_cap_while_another_path_lives,
    ),
    "standby-stays": (
        "policy/steer_key.h",
        "MPS_STEER_KEY_LOSS | MPS_STEER_KEY_CAP)",
        "MPS_STEER_KEY_LOSS)",
        judge.test_standby_leaves_a_path_at_its_cap_at_once,
    ),
    "blocked-carries": (
        "policy/steer.h",
        "p->flags &= ~(!!(over & MPS_STEER_BLOCKED) * (MPS_PATH_ACTIVE | MPS_PATH_SENDS));",
        "",
        judge.test_what_is_blocked_carries_nothing,
    ),
    "over-is-blocked": (
        "policy/steer.h",
        "!!(over & MPS_STEER_BLOCKED)",
        "!!over",
        judge.test_what_is_blocked_carries_nothing,
    ),
    "probes-cost-nothing": (
        "policy/steer.h",
        "(metered | mps_steer_is_over_cap(p))",
        "metered",
        judge.test_over_the_cap_no_probes,
    ),
    "received-is-free": (
        "state/steer_account.h",
        "mps_account_bytes(a, s, MPS_STEER_RECEIVED) +",
        "",
        judge.test_both_ways_and_what_waits_count,
    ),
    "one-more": (
        "state/steer_account.h",
        "queued >=",
        "queued >",
        judge.test_both_ways_and_what_waits_count,
    ),
    "no-cap-is-zero": (
        "state/steer_account.h",
        "a->cap && ",
        "",
        judge.test_both_ways_and_what_waits_count,
    ),
    "less-is-most": (
        "state/steer_account.h",
        "(__s64)bytes < 0 ? 0 : bytes",
        "bytes",
        judge.test_less_than_nothing_is_nothing,
    ),
    "centuries-leap": (
        "state/steer_period.h",
        "(year % 100 || !(year % 400))",
        "1",
        judge.test_dates,
    ),
    "weeks-from-sunday": (
        "state/steer_period.h",
        "(today + 3)",
        "(today + 4)",
        judge.test_weeks_begin_on_monday,
    ),
    "days-that-are-not": (
        "state/steer_period.h",
        "day < last ? day : last",
        "day",
        judge.test_each_period_begins_where_the_one_before_ends,
    ),
    "january-follows-nothing": (
        "state/steer_period.h",
        "d.year += d.month == 12;",
        "",
        judge.test_each_period_begins_where_the_one_before_ends,
    ),
    "before-not-kept": (
        "state/steer_period.h",
        "a->before[way] = mps_account_bytes(a, s, way);",
        "",
        judge.test_a_period_ends_once,
    ),
    "taken-back-over-the-border": (
        "state/steer_period.h",
        "mps_period_next(now, a->period, a->day) < start)",
        "1)",
        judge.test_a_clock_that_goes_back_over_the_border,
    ),
    "back-is-new": (
        "state/steer_period.h",
        "else if (now > start)",
        "else if (now != start)",
        judge.test_a_clock_that_goes_back_over_the_border,
    ),
    "any-step-is-new": (
        "state/steer_period.h",
        "mps_period_next(seen, a->period, a->day) == now)",
        "now > seen)",
        judge.test_a_clock_without_a_battery,
    ),
    "stuck-ahead": (
        "state/steer_period.h",
        "else if (now < start && seen && mps",
        "else if (0 && mps",
        judge.test_a_clock_that_was_ahead_for_long,
    ),
    "a-leap-loses": (
        "state/steer_period.h",
        "a->base[way] -= a->before[way];",
        "",
        judge.test_a_clock_that_leaps_and_comes_back,
    ),
    "no-clock-is-a-period": (
        "state/steer_period.h",
        "if (!start)\n\t\ta->start = now;\n\telse if",
        "if",
        judge.test_before_there_is_a_clock,
    ),
    "a-week-before-all-days": (
        "state/steer_period.h",
        "today < 4 ? 0 : today",
        "today",
        judge.test_before_there_is_a_clock,
    ),
}

suspects = hostlib.suspects(suspects_of, MUTANTS)


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_found(name, suspects):
    with pytest.raises(AssertionError):
        MUTANTS[name][-1](suspects[name].result())
