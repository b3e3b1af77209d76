# SPDX-License-Identifier: GPL-2.0
"""Makes the lab's modules importable, for the tests of its parts that need no guest."""

import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path[:0] = [str(BENCH / "lib"), str(BENCH)]
