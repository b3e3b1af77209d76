# SPDX-License-Identifier: GPL-2.0
"""Maps that are linked twice at once, or once more, as any loader may do: BPF_F_LINK lets it."""

import contextlib
import errno

import pytest
from command import available
from libbpf import Object, Refused
from test_registration import INSTALLED
from traffic import connection, upload

pytestmark = [pytest.mark.usefixtures("none_loaded"), pytest.mark.each_kernel]
NAME = "bpf_minrtt"


def refused(loaded, ops):
    with pytest.raises(Refused) as told:
        loaded.register(ops)
    return errno.errorcode[told.value.code]


@pytest.fixture
def path(suffix):
    return INSTALLED / f"{NAME}{suffix}"


@contextlib.contextmanager
def selected(labs):
    lab = labs()
    lab.client.scheduler = NAME
    yield lab
    lab.client.scheduler = "default"


def carries(lab):
    with connection(lab, subflows=1) as conn:
        upload(conn, 100_000).finish().acknowledged()


def test_a_scheduler(labs, path):
    with Object(path) as loaded:
        loaded.register(NAME)
        with selected(labs) as lab, connection(lab, subflows=1) as kept:
            assert refused(loaded, NAME) == "EEXIST"
            upload(kept, 100_000).acknowledged()
            carries(lab)
            loaded.detach()
            assert available() == {"default"}
            loaded.register(NAME)
            lab.client.scheduler = NAME
            upload(kept, 100_000).finish().acknowledged()
            carries(lab)


def test_a_clock(labs, path):
    clock = f"{NAME}_clock"
    with Object(path) as scheduler, Object(path, clock) as loaded:
        scheduler.register(NAME)
        loaded.register(clock)
        assert refused(loaded, clock) == "EEXIST"
        with selected(labs) as lab:
            carries(lab)
            loaded.detach()
            carries(lab)
            loaded.register(clock)
            carries(lab)
