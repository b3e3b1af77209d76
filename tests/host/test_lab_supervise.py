# SPDX-License-Identifier: GPL-2.0
"""What a guest hands over arrives whole or not yet, and what is compared stays together."""

import itertools
import json

import pytest
from mptcplab import scenario, supervise
from mptcplab.guest import run
from mptcplab.plan import PlanError

RECORDS = [
    ({"key": "a", "result": {"text": "line\nbreak"}}, {}),
    ({"key": "b"}, {"capture": b"\n{}\n\x00" * 999, "other": b""}),
    ({"key": "c"}, {"capture": b""}),
]


def written(folder):
    """The bytes of the guest's end, and what has to come out of them."""
    stream = run.Stream(folder / "stream")
    for record, files in RECORDS:
        paths = {}
        for name, data in files.items():
            paths[name] = folder / f"{record['key']}-{name}"
            paths[name].write_bytes(data)
        stream.put(record, paths)
    return (folder / "stream").read_bytes()


@pytest.mark.parametrize("step", [1, 7, 4096, 10**6])
def test_frames_come_out_as_they_went_in_however_they_arrive(tmp_path, step):
    data = written(tmp_path)
    file = tmp_path / "arriving"
    file.write_bytes(b"")
    frames, got = supervise.Frames(file), []
    for at in range(0, len(data), step):
        with file.open("ab") as f:
            f.write(data[at : at + step])
        got += frames.read()
    assert got == RECORDS


def test_a_frame_that_was_cut_off_is_not_there(tmp_path):
    data = written(tmp_path)
    file = tmp_path / "cut"
    file.write_bytes(data[:-1][: data.rindex(b'{"key": "c"') - 1])
    assert [r["key"] for r, _ in supervise.Frames(file).read()] == ["a"]


def jobs():
    checks = [{"key": f"check{i}", "kind": "check", "path": {"mbit": i}} for i in range(9)]
    cells = []
    for one in scenario.load_all().values():
        for cell in one.cells(["default", "x"])[:6]:
            cells.append({"key": str(cell), "kind": "cell", "cell": cell.spec()})
    return checks + cells


def test_shards_have_every_job_once_and_what_is_compared_in_one_guest():
    everything = jobs()
    parts = supervise.shards(everything, 2)
    assert sorted(j["key"] for p in parts for j in p) == sorted(j["key"] for j in everything)
    where = {}
    for index, job in itertools.chain(*(zip(itertools.repeat(i), p) for i, p in enumerate(parts))):
        if job["kind"] == "cell":
            c = job["cell"]
            group = json.dumps([c["scenario"], c["params"], c["seed"], c["run"]])
            assert where.setdefault(group, index) == index
    work = [sum(map(supervise.cost, p)) for p in parts]
    assert max(work) < 1.2 * min(work)
    assert supervise.shards(everything[:1], 2) == [everything[:1]]


def test_a_second_run_beside_the_first_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(supervise, "WORK", tmp_path)
    with (
        supervise.alone(),
        pytest.raises(PlanError, match="another run of the lab"),
        supervise.alone(),
    ):
        pass
    with supervise.alone():
        pass
