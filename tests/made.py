# SPDX-License-Identifier: GPL-2.0
"""What kernels that tests/native/build.sh makes are made for: there, to lack it is no reason to skip."""

import platform

import pytest

API = "this kernel has no scheduler API of its own"
FAULTS = "this kernel has no fault injection"
# by the flavour, the end of its release
MADE_FOR = {"native": {API}, "debug": {API, FAULTS}, "debug-stock": {FAULTS}}


def skip_for_want(reason, release=None):
    """Skips the test for that reason, which a kernel that was made for it must not have."""
    flavour = (release or platform.release()).partition("-mptcp-")[2]
    assert reason not in MADE_FOR.get(flavour, ()), f"{reason}, and was made for it"
    pytest.skip(reason)
