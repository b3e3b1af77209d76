# SPDX-License-Identifier: GPL-2.0
"""Kfuncs called at random, by programs made at random, on sockets in every state.

A seed makes the programs: which kfuncs a hook calls, with which numbers, how often. The verifier
accepts each of them, so nothing that they do may hurt: all data arrives, and the kernel has no
complaint. --random-seed makes others, --random-programs more.
"""

import json
import random
import re
import socket
from pathlib import Path as File

import pytest
from command import ok
from lab import Path, run, until
from libbpf import Object
from test_reconnect import disconnect
from test_unload import bridge_returns, rmmod
from traffic import Connection, both_ways, connection, download, listen, upload

HERE = File(__file__).parent
CALLS = re.findall(r"^\tX\((\w+),", (HERE / "bpf/anycall.bpf.c").read_text(), re.MULTILINE)
assert len(CALLS) > 10, CALLS
HOOKS = ("SEND_STEPS", "SEND_AGAIN", "RETRANS_STEPS", "INIT_STEPS", "RELEASE_STEPS")
# linux/net/tcp_states.h
ESTABLISHED, SYN_SENT, SYN_RECV, CLOSE, CLOSE_WAIT, LISTEN = 1, 2, 3, 7, 8, 10


def number(rng):
    return rng.choice((0, 1, 2, 1448, 65_535, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1))


def step(rng):
    if rng.random() < 0.1:
        return f"LEAVE({rng.randint(2, 9)})"
    argument = rng.choice((f"{number(rng)}U", "bpf_get_prandom_u32()"))
    return f"STEP({rng.choice((1, 1, 2, 5))}, {rng.choice(CALLS)}, {argument})"


def write_calls(file, seed):
    """calls.h of this seed: two to nine calls for each subflow in each hook."""
    rng = random.Random(seed)
    lines = ["/* SPDX-License-Identifier: GPL-2.0 */"]
    for hook in HOOKS:
        steps = " ".join(step(rng) for _ in range(rng.randint(2, 9)))
        lines.append(f"#define {hook} {steps}")
    lines.append(f"#define CLOCK_ONE_IN {rng.choice((1, 3, 20))}")
    text = "\n".join(lines) + "\n"
    file.write_text(text)
    return text


def called():
    """How often each kfunc, by its name in anycall.bpf.c; the last two are of no hook's steps."""
    dump = json.loads(run("bpftool", "--json", "map", "dump", "name", "called").stdout)
    counts = [entry["formatted"]["value"] for entry in dump]
    return dict(zip([*CALLS, "chk_stale", "of_clock"], counts, strict=True))


def pytest_generate_tests(metafunc):
    metafunc.parametrize("nth", range(metafunc.config.getoption("random_programs")))


def every_state(lab):
    """Connections that open, carry, lose a path, are shut, reset, used again, and plain ones."""
    with connection(lab) as conn:
        both_ways(conn, 200_000)
        with lab.outage(1, "loss") as (kill, revive):
            transfer = upload(conn, 300_000).reached(0.1)
            kill()
            transfer.finish()
            revive()
        lab.endpoint(2, "del")
        download(conn, 50_000).finish()
        lab.endpoint(2)
        conn.client.shutdown(socket.SHUT_WR)
        download(conn, 50_000).finish()
    with connection(lab) as conn:
        upload(conn, 100_000)
        conn.abort()
    with connection(lab, protocol=socket.IPPROTO_TCP) as conn:
        upload(conn, 50_000).finish()
    listener = listen(lab)
    conn = Connection(lab, listener)
    upload(conn, 1_000).finish()
    disconnect(conn.client)
    conn.server.close()
    conn.client.connect(listener.getsockname()[:2])
    conn.server = listener.accept()[0]
    upload(conn, 100_000).finish()
    conn.close()
    listener.close()


@pytest.mark.usefixtures("none_loaded")
def test_whatever_is_called(nth, labs, compiled, has_get_send, pytestconfig, tmp_path):
    seed = pytestconfig.getoption("random_seed") + nth
    text = write_calls(tmp_path / "calls.h", seed)
    # for whoever reads that it failed, as when the kernel complained (conftest.py)
    print(seed, text)
    sleeps = has_get_send and seed % 2
    options = [f"-I{tmp_path}", *(["-DSTALE"] if sleeps else [])]
    lab = labs(Path(50, 4), Path(20, 20)).endpoints()
    with Object(compiled("anystate")) as states:
        for program in ("t_state", "t_again", "t_end"):
            states.attach(program)
        ok("load", compiled("anycall", *options))
        for net in (lab.client, lab.server):
            net.scheduler = "t_any"
        every_state(lab)
        count = called()
        wanted = re.findall(r"STEP\(\d, (\w+)", text.partition("#define SEND_AGAIN")[0])
        assert all(count[name] for name in wanted), count
        assert count["of_clock"] > 100 and bool(sleeps) == bool(count["chk_stale"]), count
        ok("unload", "t_any", "--force")
        seen = {i for i in range(16) if states.u64("states", i)}
        assert {ESTABLISHED, SYN_SENT, CLOSE, CLOSE_WAIT, LISTEN} <= seen, seen
    with bridge_returns():
        until(lambda: rmmod().returncode == 0, 30, "nothing keeps the bridge for long")
