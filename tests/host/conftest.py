# SPDX-License-Identifier: GPL-2.0
"""The drivers that the host tests share; needs cc and nothing else."""

import headers
import hostlib
import packages
import pytest


@pytest.fixture(scope="session")
def driver():
    """The headers as they are compiled for use."""
    return hostlib.build("plain", ["-O2"])


@pytest.fixture(scope="session")
def sanitized():
    """The same with every undefined operation and stray access fatal."""
    return hostlib.build("sanitized", ["-O2", *hostlib.SANITIZE])


@pytest.fixture(scope="module")
def lib(request):
    """The functions of headers.py, as compiled for use: of headers.c, or the test's own SOURCE."""
    return headers.plain(getattr(request.module, "SOURCE", "headers.c"))


@pytest.fixture(scope="session")
def version():
    """The project's."""
    return packages.version()


@pytest.fixture(scope="session")
def debs():
    """{Debian package: its files}"""
    return packages.debs()
