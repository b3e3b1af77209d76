# SPDX-License-Identifier: GPL-2.0
"""The drivers that the host tests share; needs cc and nothing else."""

import hostlib
import pytest


@pytest.fixture(scope="session")
def driver():
    """The headers as they are compiled for use."""
    return hostlib.build("plain", ["-O2"])


@pytest.fixture(scope="session")
def sanitized():
    """The same with every undefined operation and stray access fatal."""
    return hostlib.build("sanitized", ["-O2", *hostlib.SANITIZE])
