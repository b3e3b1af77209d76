# SPDX-License-Identifier: GPL-2.0
"""Emulated paths in a guest, and what goes over them: servers, clients, captures, counters."""
