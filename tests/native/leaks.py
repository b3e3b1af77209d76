#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What kmemleak has found: prints it, exit status 1 where there is something.

Two scans with a pause: what was in a register, or is young, is no leak.
"""

import sys
import time
from pathlib import Path

KMEMLEAK = Path("/sys/kernel/debug/kmemleak")


def main():
    for _ in range(2):
        # kmemleak looks at nothing that is younger than five seconds
        time.sleep(6)
        KMEMLEAK.write_text("scan")
    found = KMEMLEAK.read_text()
    print(found or "kmemleak: nothing")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
