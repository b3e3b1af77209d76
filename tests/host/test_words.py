# SPDX-License-Identifier: GPL-2.0
"""The linters of texts: sentences that are too long (tests/words.py), misspelt words (tests/spelling.py)."""

import pytest
import spelling
import words
from hostlib import TOP

# Taken apart, since this file is looked through, too.
WRONG = "rec" + "ieve"
TWICE = "the " * 2
CODE = f"```\n{WRONG} {TWICE}\n```\n"


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("One two three. Four five!", [3, 2]),
        ("- one two\n- three four", [2, 2]),
        ("# A heading of five words\n\nOne two.", [2]),
        (CODE + "One `two three` four.", [3]),
        ("| a | " + "word " * 40 + "|\n\nA [link of four](https://example.org/x).", [4]),
    ],
)
def test_what_a_sentence_is(text, lengths):
    assert [count for count, _ in words.sentences(text)] == lengths


def test_pages_for_users_have_shorter_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(words, "TOP", tmp_path)
    for name, limit in {"README.md": 16, "docs/use/a.md": 16, "docs/dev/b.md": 20}.items():
        page = tmp_path / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text("word " * limit + ".")
        assert not list(words.too_long(page))
        page.write_text("word " * limit + "word.")
        told = f"{name}: {limit + 1}.0 words in a sentence, at most {limit}:"
        assert next(words.too_long(page)) == told


@pytest.fixture
def said(tmp_path):
    """said(name, text): the words that are told of a file of that name."""

    def told(name, text):
        (tmp_path / name).write_text(text)
        return [word for _, word, _ in spelling.misspelt([tmp_path / name])]

    return told


def test_misspelt_words(said):
    assert said("page.md", f"We {WRONG} it.") == [WRONG]
    assert said("code.c", f"/* We {WRONG} it. */") == [WRONG]
    assert said("page.md", "We receive it at CoNEXT.") == []


def test_a_word_that_stands_twice_is_for_documents(said):
    (told,) = said("page.md", f"Of {TWICE}paths.")
    assert told.startswith(TWICE.strip())
    assert said("page.md", CODE) == []
    assert said("code.c", f"unsigned {TWICE}long") == []


def test_a_file_in_which_something_is_wrong_is_named(tmp_path):
    files = [tmp_path / name for name in ("a.md", "b.md", "c.md")]
    for file in files:
        file.write_text(f"We {WRONG} it." if file.name == "b.md" else "We receive it.")
    assert [path for path, _, _ in spelling.misspelt(files)] == [files[1]]


def test_what_is_made_is_no_text():
    for name in ("README.md", "kmod/main.c", ".ci/run", "tests/vm/root.sh"):
        assert spelling.is_text(TOP / name)
    assert not spelling.is_text(TOP / "docs/img/downloads.svg")
    assert not spelling.is_text(TOP / "tests/fuzz/seeds/requests/head")


def test_without_the_speller_it_is_no_success(monkeypatch, capsys):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.argv", ["spelling.py", str(TOP / "README.md")])
    assert spelling.main() == 1
    assert "no spellintian (package lintian)" in capsys.readouterr().err
