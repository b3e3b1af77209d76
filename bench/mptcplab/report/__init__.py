# SPDX-License-Identifier: GPL-2.0
"""What becomes of the lab's raw results, outside the guest."""
