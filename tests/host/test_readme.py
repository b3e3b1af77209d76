# SPDX-License-Identifier: GPL-2.0
"""The README's figures are those of the demo's result that is committed, and the picture's, too."""

import json
import re

import pytest
from mptcplab.report import events, modes, readme


def told():
    return json.loads(readme.RESULT.read_text())


def texts_of(svg):
    return re.findall(r"<text [^>]*>([^<]*)</text>", svg.read_text())


def outage():
    return json.loads(readme.OUTAGE.read_text())


def test_the_table_of_a_path_that_dies():
    text = readme.README.read_text()
    block = text.partition(readme.OUTAGE_BEGIN)[2].partition(readme.END)[0]
    assert block == "\n".join(readme.outage_lines(outage())) + "\n"
    other = outage()
    other["results"][-1]["delay"] = 77
    assert "77000 ms" in "\n".join(readme.outage_lines(other))
    assert readme.OWN_LOSSES in block


@pytest.mark.parametrize("paths", events.RESULTS)
def test_the_tables_of_paths_that_fail(paths):
    told = json.loads(events.RESULTS[paths].read_text())
    assert len(told["rtt"]) == paths
    block = events.PAGE.read_text().partition(events.BEGINS[paths])[2].partition(readme.END)[0]
    assert block == "\n".join(events.lines_of(told)) + "\n"
    told["results"][-1]["delay"] = 77
    assert "77000" in "\n".join(events.lines_of(told))
    assert readme.OWN_LOSSES in block


def test_the_table_of_modes():
    told = json.loads(modes.RESULT.read_text())
    block = modes.PAGE.read_text().partition(modes.BEGIN)[2].partition(readme.END)[0]
    assert block == "\n".join(modes.lines_of(told)) + "\n"
    assert modes.is_of_modes(modes.RESULT) and not modes.is_of_modes(readme.OUTAGE)


def test_the_table():
    text = readme.README.read_text()
    block = text.partition(readme.BEGIN)[2].partition(readme.END)[0]
    assert block == "\n".join(readme.told_lines(told())) + "\n"
    assert f"]({readme.PICTURE.relative_to(readme.SRC)})" in text


def test_the_picture(tmp_path):
    readme.draw(told(), outage(), tmp_path / "again.svg")
    texts = texts_of(readme.PICTURE)
    assert texts == texts_of(tmp_path / "again.svg")
    size = told()["results"][-1]["size"]
    largest = [r for r in told()["results"] if r["size"] == size]
    assert len(largest) >= 8
    for row in largest:
        assert f"{row['mean']:.3f} s" in texts
    words = {r["scheduler"] for r in outage()["results"]}
    gaps = [readme.worst_ms(outage(), "gap", scheduler=w, load="bulk", victim=0) for w in words]
    assert {f"{gap:.0f} ms" for gap in gaps} <= set(texts)


def test_another_result_would_be_noticed(tmp_path):
    other = told()
    other["results"][-1]["mean"] *= 2
    readme.draw(other, outage(), tmp_path / "other.svg")
    assert texts_of(readme.PICTURE) != texts_of(tmp_path / "other.svg")
    assert "\n".join(readme.told_lines(other)) not in readme.README.read_text()


def test_a_new_result_changes_its_own_table_only(tmp_path, monkeypatch):
    copies = {n: tmp_path / f.name for n, f in events.RESULTS.items()}
    for number, file in events.RESULTS.items():
        copies[number].write_text(file.read_text())
    page = tmp_path / "lab.md"
    page.write_text(events.PAGE.read_text())
    monkeypatch.setattr(events, "RESULTS", copies)
    monkeypatch.setattr(events, "PAGE", page)
    before = {n: f.read_text() for n, f in copies.items()}
    told = json.loads(before[3])
    arguments = {k: told.pop(k) for k in ("mbit", "rtt", "times")}
    for row in told["results"]:
        row["delay"] = 77
    new = tmp_path / "outage-7.0.json"
    new.write_text(json.dumps(told | {"arguments": arguments}))
    events.write(new)
    assert copies[2].read_text() == before[2]
    assert json.loads(copies[3].read_text())["results"] == told["results"]
    _, two, three = (
        page.read_text().replace(events.BEGINS[3], events.BEGINS[2]).split(events.BEGINS[2])
    )
    assert "77000" not in two
    assert "77000" in three
