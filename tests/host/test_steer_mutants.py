# SPDX-License-Identifier: GPL-2.0
"""Steering's functions with one thing wrong each, and the test that finds it."""

import hostlib
import pytest
import test_steer as judge
import test_steer_budget as budget
import test_steer_loss as loss
import test_steer_names as names
from steering import suspects_of

MUTANTS = {
    "impatient": (
        "policy/steer.h",
        "(o->copy && c->age_us >= mps_steer_patience(o))",
        "o->copy",
        judge.test_priority_is_patient_with_a_path_in_recovery,
    ),
    "patient-for-ever": (
        "policy/steer_overflow.h",
        ": waited < mps_steer_patience(o))",
        ": 1)",
        judge.test_priority_is_patient_with_a_path_in_recovery,
    ),
    "idle-or-not": (
        "policy/steer_overflow.h",
        "const bool done = !c->unacked || ",
        "const bool done = ",
        judge.test_what_was_idle_begins_anew,
    ),
    "loss-counts-as-alive": (
        "policy/steer_key.h",
        "(how / MPS_STEER_BY_LOSS & loss)",
        "0",
        judge.test_lowest_rank_alive,
    ),
    "thresholds-by-rank-ignored": (
        "policy/steer_key.h",
        "rank | out * MPS_STEER_KEY_OUT |",
        "rank |",
        judge.test_lowest_rank_alive,
    ),
    "ranks-ignored": (
        "policy/steer_key.h",
        "return rank | out *",
        "return out *",
        judge.test_lowest_rank_alive,
    ),
    "backups-before-slow-ones": (
        "policy/steer_key.h",
        "| backup * MPS_STEER_KEY_BACKUP |",
        "|",
        judge.test_lowest_rank_alive,
    ),
    "backups-help": (
        "policy/steer_overflow.h",
        "|| next >= MPS_STEER_KEY_OUT)",
        ")",
        judge.test_backups_without_a_row_are_no_rank,
    ),
    "no-copies-for-what-is-silent": (
        "policy/steer_key.h",
        "((metered | loss) & copy)",
        "(metered & copy)",
        judge.test_other_modes_go_by_thresholds_and_backups,
    ),
    "copies-on-metered": (
        "policy/steer_key.h",
        "((metered | loss) & copy)",
        "(loss & copy)",
        judge.test_other_modes_go_by_thresholds_and_backups,
    ),
    "redundant-but-for-metered": (
        "policy/steer.h",
        "o->copy && !mps_steer_copies_all(o->mode)",
        "o->copy",
        judge.test_other_modes_go_by_thresholds_and_backups,
    ),
    "backups-as-others": (
        "policy/steer_key.h",
        "backup << 2 | out << 1",
        "out << 1",
        judge.test_other_modes_go_by_thresholds_and_backups,
    ),
    "never-late": (
        "policy/steer_overflow.h",
        "done && waited + done > o->deadline_us &&",
        "0 &&",
        judge.test_overflow_when_the_estimate_is_beyond_the_deadline,
    ),
    "always-late": (
        "policy/steer_overflow.h",
        "done && waited + done > o->deadline_us &&",
        "done &&",
        judge.test_overflow_when_the_estimate_is_beyond_the_deadline,
    ),
    "helps-or-not": (
        "policy/steer_overflow.h",
        "mps_steer_helps_us(c, next) < done + follows",
        "1",
        judge.test_overflow_only_to_what_helps,
    ),
    "nothing-follows": (
        "policy/steer_overflow.h",
        "< done + follows",
        "< done",
        judge.test_a_far_rank_helps_a_transfer_that_goes_on,
    ),
    "something-always-follows": (
        "policy/steer_overflow.h",
        "o->waits ? waited / MPS_STEER_REST_PARTS : 0",
        "waited / MPS_STEER_REST_PARTS",
        judge.test_a_far_rank_helps_a_transfer_that_goes_on,
    ),
    "waiting-forgotten": (
        "policy/steer_overflow.h",
        "waited + done >",
        "done >",
        judge.test_a_long_transfer_overflows_after_the_deadline,
    ),
    "waiting-never-ends": (
        "policy/steer_overflow.h",
        "!c->unacked || (!more &&",
        "!c->unacked || (0 &&",
        judge.test_data_that_finds_room_is_another_matter,
    ),
    "silence-forgotten": (
        "policy/steer_overflow.h",
        "(speaks && done)",
        "done",
        judge.test_priority_leaves_a_path_that_is_silent,
    ),
    "what-is-silent-delivers": (
        "policy/steer_overflow.h",
        "mps_steer_least(c, MPS_STEER_BY_RANK | MPS_STEER_BY_LOSS, 0, limit + 1)",
        "mps_steer_least(c, MPS_STEER_BY_RANK, 0, limit + 1)",
        judge.test_a_silent_rank_is_no_help,
    ),
    "waits-wrap": (
        "policy/steer_overflow.h",
        "> MPS_STEER_WAIT_MAX_US)",
        "> ~0U - 1)",
        judge.test_the_longest_wait,
    ),
    "back-at-once": (
        "policy/steer.h",
        ">= MPS_STEER_BACK_US)",
        ">= 0)",
        judge.test_standby_comes_back_with_hysteresis,
    ),
    "back-never": (
        "policy/steer.h",
        ">= MPS_STEER_BACK_US)",
        "> ~0U - 1)",
        judge.test_standby_comes_back_with_hysteresis,
    ),
    "each-time-anew": (
        "policy/steer.h",
        "if (!s->begun || last >= c->nr_paths || !mps_is_usable(p, b->flags & MPS_PATH_BACKUP))",
        "if (1)",
        judge.test_the_smallest_delay_is_steady,
    ),
    "steady-for-ever": (
        "policy/steer.h",
        "p->srtt_us - p->srtt_us / MPS_STEER_STEADY > b->srtt_us",
        "0",
        judge.test_the_smallest_delay_is_steady,
    ),
    "steady-though-full": (
        "policy/steer.h",
        "return mps_is_available(c, &c->path[s->last]) ?",
        "return 1 ?",
        judge.test_the_smallest_delay_is_steady,
    ),
    "steady-as-a-backup": (
        "policy/steer.h",
        " || !mps_is_usable(p, b->flags & MPS_PATH_BACKUP))",
        ")",
        judge.test_the_smallest_delay_is_steady,
    ),
    "steady-though-unknown": (
        "policy/steer.h",
        "if (!p->srtt_us || p->srtt_us - ",
        "if (p->srtt_us - ",
        judge.test_the_smallest_delay_is_steady,
    ),
    "rtt-before-rank": (
        "policy/steer.h",
        "(__u64)mps_steer_rank(p) << 33 | ",
        "0 | ",
        judge.test_ranks_pick,
    ),
    "unknown-for-ever": (
        "policy/steer.h",
        "(mps_wants_first_sample(c, p) ? 0 : known)",
        "known",
        judge.test_ranks_pick,
    ),
    "copies-note": (
        "policy/steer.h",
        "if (!o->copy)",
        "if (1)",
        judge.test_copies_leave_what_is_noted,
    ),
    "probes-for-nothing": (
        "policy/steer.h",
        "p->flags &= ~((metered | mps_steer_is_over_cap(p)) * MPS_PATH_DUE);",
        "(void)metered;",
        judge.test_no_probes_of_metered_paths,
    ),
    "as-one-scheduler": (
        "policy/steer.h",
        "& 1 ? 1 : 2;",
        "& 1 ? 1 : 1;",
        names.test_a_named_mode_has_its_scheduler_s_limits,
    ),
    "as-before": (
        "policy/steer.h",
        "s->begun = 0;",
        "",
        judge.test_other_tables_end_a_standby,
    ),
    "waits-anew": (
        "policy/steer.h",
        "if (mode != MPS_STEER_PRIORITY) {",
        "{",
        judge.test_other_tables_leave_what_waits,
    ),
    "a-row-for-ever": (
        "policy/match.h",
        "s->as_bkup == backup &&",
        "",
        names.test_a_row_is_kept_where_it_is_sure,
    ),
    "a-row-without-a-route": (
        "policy/match.h",
        "if (!current || found & MPS_STEER_ROW_UNSURE)",
        "if (!current)",
        names.test_a_row_is_kept_where_it_is_sure,
    ),
    "a-row-of-other-tables": (
        "policy/match.h",
        "return current && s",
        "return s",
        names.test_a_row_is_kept_where_it_is_sure,
    ),
    "no-hysteresis": (
        "policy/match.h",
        "row->rtt_us - row->rtt_us / 8",
        "row->rtt_us",
        judge.test_the_rtt_threshold_has_hysteresis,
    ),
    "lossy-ones-carry": (
        "state/steer.h",
        "mps_steer_is_over_rtt(p) | mps_steer_is_over_loss(p)",
        "mps_steer_is_over_rtt(p)",
        judge.test_lowest_rank_alive,
    ),
    "slow-ones-carry": (
        "state/steer.h",
        "mps_steer_is_over_rtt(p) | mps_steer_is_over_loss(p)",
        "mps_steer_is_over_loss(p)",
        judge.test_other_modes_go_by_thresholds_and_backups,
    ),
    "loss-not-noted": (
        "policy/steer.h",
        "notes |= mps_steer_is_over_loss(p) << MPS_NOTE_OVER_LOSS;",
        "",
        judge.test_other_modes_go_by_thresholds_and_backups,
    ),
    "losses-never-forgotten": (
        "state/steer_loss.h",
        "		return times < 31 ? times : 31;",
        "		return 0;",
        loss.test_time_forgives,
    ),
    "forgotten-once": (
        "state/steer_loss.h",
        "		return times < 31 ? times : 31;",
        "		return 1;",
        loss.test_time_forgives,
    ),
    "of-all-time": (
        "state/steer_loss.h",
        "return l->sent >= MPS_LOSS_MANY;",
        "return 0;",
        loss.test_only_the_last_segments_count,
    ),
    "by-few": (
        "state/steer_loss.h",
        "l->sent < MPS_LOSS_LEAST ? MPS_LOSS_LEAST : l->sent;",
        "l->sent;",
        loss.test_few_segments_say_little,
    ),
    "loss-back-at-once": (
        "state/steer_loss.h",
        "(was ? 7 : 8)",
        "8",
        loss.test_the_loss_threshold_has_hysteresis,
    ),
    "no-threshold-is-none-lost": (
        "state/steer_loss.h",
        "return most && ",
        "return ",
        loss.test_without_a_threshold_none_is_over,
    ),
    "totals-counted-again": (
        "state/steer_loss.h",
        "	l->lost_seen = lost;",
        "",
        loss.test_by_the_sums,
    ),
    "a-lifetime-counts": (
        "state/steer_loss.h",
        "more < MPS_LOSS_STEP && ",
        "",
        loss.test_what_was_long_ago_says_nothing,
    ),
    "what-was-there-is-not-taken-back": (
        "state/steer_loss.h",
        "l->lost -= l->lost < back ? l->lost : back;",
        ";",
        loss.test_what_the_receiver_had_was_not_lost,
    ),
    "halves-lost": (
        "state/steer_loss.h",
        "MPS_LOSS_UNIT 256U",
        "MPS_LOSS_UNIT 1U",
        loss.test_by_the_sums,
    ),
    "budget-ignored": (
        "policy/steer_budget.h",
        "return b->left >= (__s64)(bytes * MPS_BUDGET_PARTS);",
        "return true;",
        budget.test_never_more_than_the_budget_and_little_less,
    ),
    "paid-when-used": (
        "policy/steer_budget.h",
        "b->left >= (__s64)(bytes * MPS_BUDGET_PARTS)",
        "b->left > 0",
        budget.test_never_more_than_the_budget_and_little_less,
    ),
    "all-or-none": (
        "policy/steer_budget.h",
        "mps_budget_pays(b, unit) ? mask & -mask : MPS_COPY_NONE",
        "MPS_COPY_NONE",
        budget.test_one_path_where_there_is_no_budget_for_all,
    ),
    "one-for-all": (
        "policy/steer_budget.h",
        "(__u64)unit * paths)",
        "(__u64)unit)",
        budget.test_never_more_than_the_budget_and_little_less,
    ),
    "the-last-path-s": (
        "policy/steer_budget.h",
        "b->left * more +",
        "",
        budget.test_never_more_than_the_budget_and_little_less,
    ),
    "of-all-looks": (
        "policy/steer_budget.h",
        "b->left * more +",
        "b->left +",
        budget.test_never_more_than_the_budget_and_little_less,
    ),
    "amid": (
        "policy/steer_budget.h",
        "	if (c->pending)",
        "	if (0)",
        budget.test_new_data_comes_first,
    ),
    "asked-for-amid": (
        "policy/steer_budget.h",
        "v->bytes >= c->pending &&",
        "",
        budget.test_a_pass_is_asked_for_at_the_end_of_what_is_written,
    ),
    "asked-for-in-vain": (
        "policy/steer_budget.h",
        "&& mps_budget_pays(b, 1);",
        ";",
        budget.test_a_pass_is_asked_for_at_the_end_of_what_is_written,
    ),
    "of-every-mode": (
        "policy/steer_budget.h",
        "if (mode == MPS_STEER_REDUNDANT)",
        "if (1)",
        budget.test_whose_it_is,
    ),
    "by-half-a-name": (
        "state/steer_option.h",
        " | (names[i].word[1] ^ name->word[1])",
        "",
        names.test_what_an_option_asks_for,
    ),
}

suspects = hostlib.suspects(suspects_of, MUTANTS)


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_found(name, suspects):
    with pytest.raises(AssertionError):
        MUTANTS[name][-1](suspects[name].result())
