# SPDX-License-Identifier: GPL-2.0
"""python3 -m mptcplab"""

import sys

from mptcplab import cli

sys.exit(cli.main(sys.argv[1:]))
