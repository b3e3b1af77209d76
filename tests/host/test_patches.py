# SPDX-License-Identifier: GPL-2.0
"""Patches for upstream: mails that git takes, whose figures are those of the documents.

That they apply and compile is seen on a kernel's source: ./vmtest.sh native --patches.
"""

import email
import re
import subprocess

import pytest
from hostlib import TOP

PATCHES = sorted((TOP / "patches").glob("*.patch"))
PAGE = (TOP / "docs/dev/upstream.md").read_text()
NAMES = [patch.name for patch in PATCHES]
FIGURE = re.compile(r"\b\d+\.\d{2,3}\b")


def message(patch):
    mail = email.message_from_string(patch.read_text())
    return mail, mail.get_payload().partition("\n---\n")[0]


def test_the_page_lists_each_and_no_other():
    assert PATCHES
    assert re.findall(r"`(\d{4}-[^`]+\.patch)`", PAGE) == NAMES


@pytest.mark.parametrize("patch", PATCHES, ids=NAMES)
def test_it_is_a_mail_in_netdevs_form(patch):
    mail, text = message(patch)
    assert re.fullmatch(r"\[PATCH ((net|mptcp)-next|bpf)\] (tcp|mptcp|bpf): [^.]+", mail["subject"])
    author = " ".join(mail["from"].split())
    assert text.rstrip().endswith(f"Signed-off-by: {author}")
    body = text.partition("\nLink:")[0].partition("\nSigned-off-by:")[0]
    assert max(map(len, body.splitlines())) <= 75
    assert "SPDX-License-Identifier: GPL-2.0" in patch.read_text()


@pytest.mark.parametrize("patch", PATCHES, ids=NAMES)
def test_git_takes_its_diff_whole(patch, tmp_path):
    done = subprocess.run(
        ["git", "apply", "--numstat", patch], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("patch", PATCHES, ids=NAMES)
def test_its_figures_are_those_of_the_page_that_it_names(patch):
    _, text = message(patch)
    (page,) = re.findall(r"docs/dev/\w+\.md", text)
    told = (TOP / page).read_text()
    figures = FIGURE.findall(text.partition("\nLink:")[0])
    assert figures or "BUG: " in text, "what a patch brings, or that it mends a crash"
    assert not [figure for figure in figures if figure not in told]


def test_the_figures_of_the_page():
    said = "".join(message(patch)[1] for patch in PATCHES)
    (rows,) = re.findall(r"(?:^\| `.*\n)+", PAGE, re.MULTILINE)
    assert not [figure for figure in FIGURE.findall(rows) if figure not in said]
