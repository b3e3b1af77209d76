# SPDX-License-Identifier: GPL-2.0
"""Where things are in the project's tree."""

from pathlib import Path

SRC = Path(__file__).resolve().parents[2]
BUILD = SRC / "build"
OUT = BUILD / "out"
SCENARIOS = SRC / "bench" / "scenarios"
