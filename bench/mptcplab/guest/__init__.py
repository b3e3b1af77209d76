# SPDX-License-Identifier: GPL-2.0
"""The lab's part in the guest: measures cells, and whether a path is what it is said to be."""
