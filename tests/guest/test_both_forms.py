# SPDX-License-Identifier: GPL-2.0
"""One object with a scheduler in both forms of the hooks: `load` takes this kernel's."""

import pytest
from command import ok, sched
from lab import Path
from traffic import connection, download

pytestmark = pytest.mark.each_kernel

FAILED = 1
SECTIONS = {"asked for": "?.struct_ops.link", "by default": ".struct_ops.link"}


@pytest.mark.parametrize("section", SECTIONS)
def test_one_object_for_all_kernels(none_loaded, compiled, labs, section):
    """Also where libbpf itself would create both."""
    built = compiled("both", f'-DSECTION="{SECTIONS[section]}"')
    assert ok("load", built)["loaded"] == "t_both"
    lab = labs(Path(20, 20))
    lab.server.scheduler = "t_both"
    with connection(lab) as conn:
        download(conn, 256 << 10).finish().acknowledged()
    lab.server.scheduler = "default"
    ok("unload", "t_both")


def test_one_form_under_a_name_of_its_own(none_loaded, compiled, has_get_send):
    """The kernel's is taken; the other is refused as any object of that form."""
    ours, other = ("-DNO_OLD", "-DNO_NEW") if has_get_send else ("-DNO_NEW", "-DNO_OLD")
    ok("load", compiled("both", ours))
    ok("unload", "t_both")
    result = sched("--json", "load", compiled("both", other))
    assert result.code == FAILED and "it has the hook" in result.error["reason"], result


def test_two_of_one_form(none_loaded, compiled):
    result = sched("--json", "load", compiled("both", "-DTWICE"))
    assert result.code == FAILED, result
    assert "2 variables of struct mptcp_sched_ops with the hook" in result.error["reason"]
