# SPDX-License-Identifier: GPL-2.0
"""The lab: emulated paths, what goes over them, and what is measured. Commands: cli.py.

From the bottom up, which is the order in which modules may import each other
(tests/host/test_lab_layers.py):

    schema, places, process, table  strictly read tables, the project's folders, commands, columns
    path, cell, schedulers          what is measured, as plain data; the command mptcp-sched
    lab/                            the paths in a guest, servers and clients, captures, counters
    workloads/                      what goes over the paths; a module each
    measures, records, scenario     what figures are made of; results' files; scenarios' files
    guest/                          the part in a guest
    plan, supervise, twice          what a run has to measure; the guests that do; all of it twice
    report/                         the page, figures, comparisons
    benchmarks/                     one guest, one table each
"""
