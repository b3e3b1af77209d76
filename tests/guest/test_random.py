# SPDX-License-Identifier: GPL-2.0
"""Random sequences of the command and of connections, and what holds after each step.

The book says what is loaded and selected; after each step the kernel, the pins and the command
must say the same, and all data has arrived. --random-seed and --random-steps make it another or a
longer run: one seed is one sequence.
"""

import contextlib
import os
import random
import signal
import socket
import subprocess

import pytest
from command import BRIDGE, PIN_DIR, PROGRAM, available, ok, sched, stats
from hygiene import KernelLog, complaints
from lab import SLOW, Netns, Path, run
from test_reconnect import disconnect
from traffic import Connection, both_ways, download, listen, upload

NAMES = ("bpf_minrtt", "bpf_ecf", "bpf_redundant", "bpf_thin")
SIZES = (1, 200, 20_000, 300_000)
CONNECTIONS = 4


class Book:
    """What should be there, and the steps that led to it."""

    def __init__(self, lab, rng, config):
        self.lab, self.rng, self.config = lab, rng, config
        self.loaded, self.selected = set(), {}
        self.spare, self.connections = [], []
        self.steps = []

    def note(self, *words):
        self.steps.append(" ".join(map(str, words)))

    def somewhere(self):
        return self.rng.choice([self.lab.client, self.lab.server, *self.spare])

    def uses(self, name):
        return [net for net, chosen in self.selected.items() if chosen == name]

    def exchange(self, conn, size):
        """In both directions at once; what fell back to TCP has no state of MPTCP's to ask."""
        if conn.plain:
            for transfer in [way(conn, size) for way in (upload, download)]:
                transfer.finish()
        else:
            both_ways(conn, size)

    # --- steps

    def load(self):
        name = self.rng.choice(NAMES)
        self.note("load", name)
        done = sched("load", name)
        assert (done.code == 0) == (name not in self.loaded), done
        self.loaded.add(name)

    def unload(self):
        name = self.rng.choice(NAMES)
        force = self.rng.random() < 0.5
        self.note("unload", name, force)
        done = sched("unload", name, *(["--force"] if force else []))
        fine = name in self.loaded and (force or not self.uses(name))
        assert (done.code == 0) == fine, (done, self.selected)
        if fine:
            self.loaded.discard(name)  # who selects it has the kernel's own until it is back

    def use(self):
        net, name = self.somewhere(), self.rng.choice([*NAMES, "default"])
        self.note("use", name, net.name)
        ok("use", name, "--netns", net.name)  # loads it
        self.selected[net.name] = name
        if name != "default":
            self.loaded.add(name)

    def set(self):
        name = self.rng.choice(NAMES)
        word = self.rng.choice(["min_room=0.25", "sndbuf=0", "min_room=7", "nothing=1", "copy=0"])
        self.note("set", name, word)
        done = sched("set", name, word)
        fine = name in self.loaded and word in ("min_room=0.25", "sndbuf=0")
        assert (done.code == 0) == fine, done

    def apply(self):
        wanted = self.rng.sample(NAMES, 2)
        text = f"[load]\n{wanted[0]} = sndbuf=1\n{wanted[1]} = beta=x\n"
        if self.rng.random() < 0.7:
            text = (
                f"[load]\n{wanted[0]} = sndbuf=1\n[netns]\n{self.lab.client.name} = {wanted[0]}\n"
            )
        self.note("apply", *text.split("\n"))
        self.config.write_text(text)
        before = available()
        done = sched("apply", self.config)
        if done.code:
            assert available() == before, done
        else:
            self.loaded.add(wanted[0])
            self.selected[self.lab.client.name] = wanted[0]

    def killed(self):
        """In the midst of what it does; the lock goes with it, and what is half done is undone."""
        name = self.rng.choice(NAMES)
        words = self.rng.choice([("load", name), ("unload", "--force", name), ("stats",)])
        after = self.rng.random() * 1.5
        self.note("killed", *words, f"{after:.3f}")
        with subprocess.Popen(
            [PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(after)
            process.send_signal(signal.SIGKILL)
        # whatever it came to, the command can be told anew, and then it is known again
        ok("unload", "--all", "--force")
        self.loaded = set()

    def namespace(self):
        if self.spare and self.rng.random() < 0.5:
            net = self.spare.pop(self.rng.randrange(len(self.spare)))
            self.note("netns delete", net.name)
            self.selected.pop(net.name, None)
            net.close()
        elif len(self.spare) < 3:
            self.spare.append(Netns())
            self.note("netns add", self.spare[-1].name)

    def connect(self):
        if len(self.connections) >= CONNECTIONS:
            return self.close()
        plain = self.rng.random() < 0.25
        self.note("connect", "to plain TCP" if plain else "")
        listener = listen(self.lab, socket.IPPROTO_TCP) if plain else listen(self.lab)
        conn = Connection(self.lab, listener)
        conn.plain = plain
        self.connections.append((conn, listener))

    def transfer(self):
        if not self.connections:
            return self.connect()
        conn, _ = self.rng.choice(self.connections)
        size = self.rng.choice(SIZES)
        self.note("transfer", size)
        self.exchange(conn, size)

    def again(self):
        """The same socket, another connection: what is stored of it is another one's."""
        if not self.connections:
            return self.connect()
        conn, listener = self.rng.choice(self.connections)
        self.note("disconnect, connect")
        disconnect(conn.client)
        conn.server.close()
        conn.client.connect(listener.getsockname()[:2])
        conn.server = listener.accept()[0]
        conn.server.settimeout(60 * SLOW)
        self.exchange(conn, 200)

    def close(self):
        if self.connections:
            conn, listener = self.connections.pop(self.rng.randrange(len(self.connections)))
            how = self.rng.choice(["close", "abort"])
            self.note(how)
            getattr(conn, how)()
            listener.close()

    def endpoint(self):
        self.note("endpoint away and back")
        self.lab.endpoint(2, "del")
        if self.connections:
            self.exchange(self.rng.choice(self.connections)[0], 20_000)
        self.lab.endpoint(2)

    def remove_bridge(self):
        """Only where nothing needs it: a socket, a listener or a scheduler that is loaded."""
        self.note("rmmod")
        done = run("rmmod", BRIDGE, check=False)
        if done.returncode == 0:
            assert not self.loaded, self.loaded
            run("modprobe", BRIDGE)

    # --- what must hold

    def check(self):
        said = {s["name"] for s in ok("list")["schedulers"] if s["registered"]} - {"default"}
        assert said == self.loaded == available() - {"default"}
        pins = os.listdir(PIN_DIR) if os.path.isdir(PIN_DIR) else []
        assert {pin.partition("@")[0] for pin in pins} == self.loaded
        for net in (self.lab.client, self.lab.server, *self.spare):
            assert net.scheduler == self.selected.get(net.name, "default")
        for conn in stats():
            for path in conn["subflows"]:
                assert all(0 <= v < 1 << 40 for v in path["counters"].values()), conn


STEPS = {
    "load": 3, "unload": 3, "use": 4, "set": 2, "apply": 1, "killed": 1, "namespace": 2, "connect": 4,
    "transfer": 6, "again": 2, "close": 2, "endpoint": 1, "remove_bridge": 1,
}  # fmt: skip


@pytest.fixture
def log():
    made = KernelLog()
    yield made
    made.close()


@pytest.mark.usefixtures("none_loaded")
@pytest.mark.parametrize("nth", [0, 1])
def test_a_random_sequence(nth, labs, log, pytestconfig, tmp_path):
    seed = pytestconfig.getoption("random_seed") + nth
    count = pytestconfig.getoption("random_steps")
    rng = random.Random(seed)
    book = Book(labs(Path(50, 4), Path(50, 10)).endpoints(), rng, tmp_path / "conf")
    said = []
    try:
        for _ in range(count):
            (name,) = rng.choices([*STEPS], [*STEPS.values()])
            getattr(book, name)()
            book.check()
            said += complaints(log.lines())
            assert not said
    except BaseException as error:
        steps = "\n".join(book.steps)
        raise AssertionError(f"seed {seed}, after these steps:\n{steps}\n{said}") from error
    finally:
        for conn, listener in book.connections:
            conn.abort()
            listener.close()
        sched("unload", "--all", "--force")
        for net in book.spare:
            net.close()
