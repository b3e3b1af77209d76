# SPDX-License-Identifier: GPL-2.0
"""The drivers that the host tests share; needs cc and nothing else."""

import zlib

import headers
import hostlib
import packages
import pytest

# Those of `vmtest.sh packages`, which installs what compiles for another architecture.
ACROSS = "test_deb_across.py"
# Modules that build all of the project once more: a brief run has one of them.
BUILD_ALL = ("test_arch", "test_rpm")


def pytest_addoption(parser):
    parser.addoption("--across", metavar="ARCHITECTURE", help=f"runs {ACROSS}")
    parser.addoption("--turn", metavar="I/N", help="what a brief run has in the I-th of N turns")


def has_turn(item, turn, turns):
    """Mutants show what the tests are worth, and take a compiler each."""
    name = item.path.stem
    if name in BUILD_ALL:
        return BUILD_ALL.index(name) == turn % len(BUILD_ALL)
    return not name.endswith("mutants") or zlib.crc32(item.name.encode()) % turns == turn - 1


def pytest_collection_modifyitems(config, items):
    if not config.getoption("turn"):
        return
    turn, turns = map(int, config.getoption("turn").split("/"))
    out = [item for item in items if not has_turn(item, turn, turns)]
    config.hook.pytest_deselected(items=out)
    items[:] = [item for item in items if has_turn(item, turn, turns)]


def pytest_ignore_collect(collection_path, config):
    return True if collection_path.name == ACROSS and not config.getoption("across") else None


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
