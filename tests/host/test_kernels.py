# SPDX-License-Identifier: GPL-2.0
"""The list of kernels, what is chosen from it, and the table in the documentation."""

import json
import struct
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]

import kernel_table
import kernels
import vmlinux

RESULT = TOP / "bench/results/kernels.json"
ARM64 = [TOP / f"bench/results/kernels-arm64{which}.json" for which in ("", "-lts")]


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A root with two kernels of its own."""

    class Root:
        boot, modules, btf = (tmp_path / n for n in ("boot", "modules", "btf"))

        def has(self, release, fetched=None):
            (self.boot / f"vmlinuz-{release}").touch()
            (self.modules / release).mkdir()
            if fetched is not None:
                (self.modules / release / ".fetched").write_text(fetched + "\n")

    made = Root()
    for path in (made.boot, made.modules, made.btf):
        path.mkdir()
    monkeypatch.setattr(kernels, "BOOT", made.boot)
    monkeypatch.setattr(kernels, "MODULES", made.modules)
    monkeypatch.setattr(kernels, "BTF", made.btf)
    made.has("6.12.118+deb13-cloud-amd64")
    made.has("7.3.4+deb13-cloud-amd64")
    return made


def names(word):
    return [name for name, _, _ in kernels.choose(word)]


def releases(word):
    return [release for _, release, _ in kernels.choose(word)]


def test_what_is_fetched_is_neither_latest_nor_part_of_all(root):
    before = {word: releases(word) for word in ("latest", "lts", "all", "7.3", "6.12")}
    root.has("7.3.4+deb13-rt-amd64", "7.3-rt")
    root.has("9.1.1+deb13-cloud-amd64", "")  # not all of it came in
    root.has("6.12.118+deb13-rt-amd64", "6.12-rt")
    assert {word: releases(word) for word in before} == before
    assert before["latest"] == ["7.3.4+deb13-cloud-amd64"]
    assert before["lts"] == ["6.12.118+deb13-cloud-amd64"]
    assert releases("7.3-rt") == ["7.3.4+deb13-rt-amd64"]


def test_the_newest_of_a_series_by_its_numbers(root):
    root.has("7.3.10+deb13-cloud-amd64")
    assert releases("latest") == ["7.3.10+deb13-cloud-amd64"]


def test_a_newer_series_than_the_list_knows_is_latest_all_the_same(root):
    root.has("7.4.1+deb13-cloud-amd64")
    assert kernels.choose("latest") == [("7.4", "7.4.1+deb13-cloud-amd64", "full")]


def test_half_a_kernel_is_none(root):
    root.has("6.18.15+deb13-cloud-amd64", "")
    assert releases("6.18") == [None]
    (root.modules / "6.18.15+deb13-cloud-amd64/.fetched").write_text("6.18\n")
    assert releases("6.18") == ["6.18.15+deb13-cloud-amd64"]


def test_every_kernel_of_the_list_is_in_every(root):
    assert names("every") == list(kernels.known())
    assert set(names("ci")) < set(names("every"))


def test_an_unknown_word_is_told_what_there_is(root):
    with pytest.raises(kernels.UnknownKernel, match=r"no kernel '5\.4'; there are: .*6\.18"):
        kernels.choose("5.4")
    # 6.1 is not the beginning of 6.12
    with pytest.raises(kernels.UnknownKernel):
        kernels.choose("6.1")


def test_the_list_says_what_is_lacking():
    for entry in kernels.known().values():
        assert entry["runs"] in ("full", "smoke", "layout")
        assert entry["had"] in ("root", "packages", "source", "image")
        assert (entry["runs"] == "layout") == (entry["had"] == "image")
        assert entry["had"] in ("root", "packages") or entry.get("note")


def digest(result=RESULT):
    return json.loads(result.read_text())


@pytest.mark.parametrize("result", [RESULT, *ARM64], ids=lambda r: r.stem)
def test_the_documentation_has_the_last_table(result):
    told = digest(result)
    text = (TOP / "docs/reference/kernels.md").read_text()
    assert "\n".join(kernel_table.table(told["kernels"])) in text
    for word in ("date", "commit", "command"):
        assert told[word] in text


def test_the_table_has_every_kernel_of_the_list():
    """And what it says ran is what the list says is run."""
    rows = {row["kernel"]: row for row in digest()["kernels"]}
    assert list(rows) == list(kernels.known())
    for name, entry in kernels.known().items():
        for field in ("runs", "architecture"):
            assert rows[name][field] == entry[field]
        assert rows[name]["note"] == entry.get("note", "")
        assert rows[name]["release"].startswith(entry["series"] + ".")


def told(found, runs="smoke", tests=None):
    return kernel_table.smoke({"runs": runs}, found, tests)


NINE = {"tests": 9, "failed": 0, "skipped": 0}


@pytest.mark.parametrize(
    ("found", "tests", "words"),
    [
        ({"fetched": "no"}, None, "cannot be had"),
        ({"built": "no"}, None, "does not build"),
        ({"guest": "124"}, None, "no verdict (124)"),
        ({}, NINE, "no verdict (-)"),
        ({"guest": "1"}, {**NINE, "failed": 2}, "7 passed, 2 failed"),
        ({"guest": "0"}, {**NINE, "skipped": 1}, "8 passed, 1 skipped"),
        ({"guest": "1"}, NINE, "9 passed, exit 1"),
        ({"guest": "0"}, {"tests": 0, "failed": 0, "skipped": 0}, "0 passed, exit 0"),
    ],
)
def test_nothing_but_tests_that_pass_is_good(found, tests, words):
    assert told(found, tests=tests) == (words, False)


def test_what_is_good():
    assert told({"guest": "0"}, tests=NINE) == ("9 passed", True)
    assert told({}, runs="layout") == ("not booted", True)


def test_the_payload_of_an_image():
    image = bytearray(4096)
    image[0x1F1] = 2
    image[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", image, 0x248, 100, 24)
    image[3 * 512 + 100 : 3 * 512 + 120] = b"what was compressed!"
    assert vmlinux.payload(bytes(image)) == b"what was compressed!"
    with pytest.raises(SystemExit, match="unknown way"):
        vmlinux.unpacked(vmlinux.payload(bytes(image)))
    with pytest.raises(SystemExit, match="not a bootable"):
        vmlinux.payload(bytes(4096))
