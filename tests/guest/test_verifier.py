# SPDX-License-Identifier: GPL-2.0
"""What the kernel takes as a scheduler and what it refuses.

Every refusal has a neighbour in the same object that is accepted, so that none
of them can pass because something else is wrong with it.
"""

import errno
from pathlib import Path

import pytest
from command import available
from libbpf import Object, Refused

# What a kernel with the API of its own refuses, and in which words, is its own
# business: there only what every one of them must refuse is looked at.
EVERYWHERE = {"t_una", "t_stale"}
TAKEN = ["t_burst", "t_pacing", "t_name_good"]
ONLY_TWO_FIELDS = "only mptcp_sock.snd_burst and mptcp_subflow_context.avg_pacing_rate"
# ops: what the log says
REFUSED_BY_VERIFIER = {
    "t_una": ONLY_TWO_FIELDS,
    "t_burst_half": ONLY_TWO_FIELDS,
    "t_stale": ONLY_TWO_FIELDS,
    "t_sleepy": "attach to unsupported member",
}
REFUSED_AT_REGISTRATION = {
    "t_empty": errno.EINVAL,
    "t_name_blank": errno.EINVAL,
    "t_name_slash": errno.EINVAL,
    "t_name_none": errno.EINVAL,
    "t_name_taken": errno.EEXIST,
}
NOT_FOR_CONGESTION_CONTROL = {
    "t_cc_timeout": "mptcp_set_timeout is not allowed",
    "t_cc_ctx": "bpf_mptcp_subflow_ctx is not allowed",
    # ours, and not for others as the rest of ours is
    "t_cc_over": "bpf_mptcp_pass_over is not allowed",
    # a function of vmlinux, by a pointer that is not trusted where that counts
    "t_cc_mark": "mptcp_subflow_set_scheduled",
}


@pytest.fixture
def objects(none_loaded, compiled):
    return compiled("refused")


@pytest.mark.parametrize("ops", TAKEN)
def test_taken(objects, ops):
    with Object(objects, only_ops=ops) as loaded:
        loaded.register(ops)
        name = "t.name_1" if ops == "t_name_good" else ops
        assert available() == {"default", name}


@pytest.mark.parametrize("ops", REFUSED_BY_VERIFIER)
def test_refused_by_the_verifier(objects, ops, native, request):
    if ops not in EVERYWHERE:
        request.getfixturevalue("by_the_bridge")
    with pytest.raises(Refused) as refused:
        Object(objects, only_ops=ops).close()
    assert native or REFUSED_BY_VERIFIER[ops] in refused.value.log
    assert refused.value.code in (errno.EACCES, errno.EINVAL)


@pytest.mark.parametrize("ops", REFUSED_AT_REGISTRATION)
def test_refused_at_registration(objects, ops):
    with Object(objects, only_ops=ops) as loaded:
        with pytest.raises(Refused) as refused:
            loaded.register(ops)
        assert refused.value.code == REFUSED_AT_REGISTRATION[ops]
        assert available() == {"default"}


def test_the_request_is_for_everybody(objects):
    """TCP congestion control may ask for retransmissions, as it does no harm there."""
    Object(objects, only_ops="t_cc").close()


@pytest.mark.usefixtures("by_the_bridge")
@pytest.mark.parametrize("ops", NOT_FOR_CONGESTION_CONTROL)
def test_the_api_is_for_schedulers_only(objects, ops):
    with pytest.raises(Refused) as refused:
        Object(objects, only_ops=ops).close()
    assert NOT_FOR_CONGESTION_CONTROL[ops] in refused.value.log
    assert refused.value.code in (errno.EACCES, errno.EINVAL)


def test_objects_of_the_other_form_are_refused_by_libbpf(none_loaded, suffix):
    """A user of plain libbpf who takes the wrong one of the two objects."""
    wrong = ".pre615.bpf.o" if suffix == ".bpf.o" else ".bpf.o"
    for path in Path("/usr/lib/mptcp-sched").glob("bpf_*"):
        if path.name.count(".") != wrong.count("."):
            continue
        with pytest.raises(Refused), Object(path) as loaded:
            loaded.register(path.name.partition(".")[0].removeprefix("bpf_"))
    assert available() == {"default"}
