# SPDX-License-Identifier: GPL-2.0
"""Which of the guest's tests run where: on which of several kernels, and which in a brief run.

A run on one kernel has all of them but those that need a browser. Where several kernels are tested, each test runs on those that
have a say in it. A brief run, as CI's, has room for an hour: it spends that on what is different, and has the rest by turns.
"""

import zlib

# The sets, of which vmtest.sh names those that a guest is to run (tests/vm/guests.sh).
SETS = {
    "kernel": "what each kernel answers in its own way",
    "again": "what a kernel has a say in, and the bridge has always made the same of",
    "every": "tests for every scheduler, with those that stand for all",
    "policy": "what policies decide",
    "packages": "needs what the tests of the host have built",
    "command": "what the command says and does",
    "browser": "needs a browser, which no run of all tests has",
}

# The command, ...
OF_THE_COMMAND = (
    "apply apply_steer commands completion containers copies_loader dkms docs doctor errors exporter exporter_listen"
    " exporter_ui inputs interrupted lock metrics monitor names privilege runtimes replay shown steer steer_match"
    " steer_push systemd trace trace_changes trace_loaded trace_top tunables watch"
)
# ... and what policies decide: the same code on the same snapshots, whichever kernel asks. That all of
# them are asked, and that what they answer is done, test_every_scheduler.py and others see on each.
OF_A_POLICY = "blest cfs cover daps_rr doubt ecf_waits fit glance lab many policies policy queueaware sndbuf steer_modes steer_outage steer_policies thin"
# Where a run is brief the newest kernel is asked alone. The bridge's own doors, copies, paths that die
# and the verifier are not among these.
AGAIN = "clock corked_end many_paths mptcpd namespaces no_sack out_of_sight outage over queue_length random redundant steer_caps steer_live tail"
# Of the tests for every scheduler these have all that any of them asks of a kernel: new data alone,
# copies of everything, copies of the end, tables. Where several kernels are tested they stand for all
# on the first, and all others are tested on the last. What the verifier says is each kernel's own.
FOR_ALL = ("bpf_minrtt", "bpf_redundant", "bpf_cfs", "bpf_steer")

# A brief run has one of so many shares of all tests, and the next commit has the next (vmtest.sh), ...
TURNS = 4
# ... but these, which each has: what breaks first with another kernel, or where the project is installed.
EVERY_TURN = "every_scheduler packages registration unload"
# Of a test it has this many variants, ...
VARIANTS = 2
# ... and all of them in these modules, where one takes less than a second or two.
CHEAP_VARIANTS = "apply errors inputs names steer verifier"
# Minutes, and what they see is seen by the test behind the colon as well, if not so thoroughly.
NOT_IN_BRIEF = {
    "clock::test_plain_tcp_makes_none_run": "clock::test_with_all_loaded_one_program_runs_per_segment",
    "containers::test_by_sysctl": "commands::test_containers",
    "containers::test_two_containers_by_annotation": "containers::test_two_containers_of_podman",
    "copies_loader::test_a_scheduler_that_does_not_ask": "copies_loader::test_attached_and_pinned_and_gone",
    "copies_loader::test_no_clock_where_nobody_copies": "clock::test_the_probe_is_there_only_while_a_clock_is",
    "docs::test_the_example_of_three_policies": "policies::test_a_connection_changes_its_policy",
    "docs::test_the_worked_example_describes_itself": "docs::test_the_worked_example",
    "exporter::test_a_look_costs_little_memory": "exporter_listen::test_addresses",
    "exporter::test_counters_never_fall": "counters::test_against_ss_and_the_devices",
    "lab::test_the_player_on_a_plain_link_does_what_the_model_does": "lab::test_a_path_that_is_not_is_told",
    "many::test_thousands": "robustness::test_short_connections_leave_nothing",
    "reinject::test_what_came_ahead_by_the_shorter_way_back": "reinject::test_the_end_comes_earlier",
    "steer::test_stats_reads_no_tables_in_vain": "steer::test_what_is_printed_is_read",
    "steer_live::test_no_half_of_a_table_is_seen": "steer_modes::test_a_rule_changes_under_way",
    "steer_modes::test_a_path_that_is_fast_again_is_found": "steer_modes::test_every_mode_delivers",
    "systemd::test_a_wrong_file_fails_the_unit_with_its_reason_and_changes_nothing": (
        "apply::test_a_file_that_is_wrong_changes_nothing"
    ),
}


def module_of(item):
    return item.module.__name__.removeprefix("test_")


def set_of(item):
    name = module_of(item)
    if name == "packages":
        return name  # it takes what the host's tests have built
    if name == "page":
        return "browser"
    if item.get_closest_marker("each_kernel"):
        return "kernel"
    if name in OF_THE_COMMAND.split():
        return "command"
    if name in OF_A_POLICY.split():
        return "policy"
    if name in AGAIN.split():
        return "again"
    every = getattr(item, "callspec", None) and item.callspec.params.get("every")
    if not every:
        return "kernel"
    return "every" if every in FOR_ALL else "policy"


def name_of(item):
    return f"{module_of(item)}::{getattr(item, 'originalname', item.name)}"


def has_turn(name, turn):
    """Of a test, `module::function`; turn: 1 to TURNS"""
    return name.partition("::")[0] in EVERY_TURN.split() or (
        zlib.crc32(name.encode()) % TURNS == turn - 1
    )


def brief(items, turn):
    """Some variants of each test; which ones is the test's own, so that all of them have their turn."""
    tests = {}
    for item in items:
        tests.setdefault(name_of(item), []).append(item)
    for name, variants in tests.items():
        count, module = len(variants), name.partition("::")[0]
        if name in NOT_IN_BRIEF or not has_turn(name, turn):
            continue
        if count <= VARIANTS or module in CHEAP_VARIANTS.split():
            yield from variants
            continue
        first = zlib.crc32(name.encode()) % count
        yield from (variants[(first + n * count // VARIANTS) % count] for n in range(VARIANTS))


def together(item):
    """Tests that share what they load stay in one part: module and, where it counts, scheduler."""
    call = getattr(item, "callspec", None)
    return item.module.__name__, call.params.get("every") if call else None


def weight(item):
    """Of tests for every scheduler several have one lab and one load in common."""
    return 1 if "every" in item.fixturenames else 3


def part_of(items, mine, parts):
    """The tests of one part, all about as long in sum."""
    groups = {}
    for item in items:
        groups.setdefault(together(item), []).append(item)
    sums, part = [0] * parts, {}
    for name, group in sorted(groups.items(), key=lambda g: -sum(map(weight, g[1]))):
        part[name] = sums.index(min(sums))
        sums[part[name]] += sum(map(weight, group))
    return [item for item in items if part[together(item)] == mine]
