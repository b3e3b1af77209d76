# SPDX-License-Identifier: GPL-2.0
"""Benchmarks that run in one guest and print one table; each is a module with run(arguments)."""
