# SPDX-License-Identifier: GPL-2.0
"""contrib/pre-commit lints what is staged, by the host's linters or the root's, and names what it lacks."""

import os
import subprocess

import pytest
from hostlib import TOP

HOOK = TOP / "contrib/pre-commit"
COMES_ALONG = (
    ".clang-format",
    "pyproject.toml",
    ".editorconfig",
    "tests/words.py",
    "tests/spelling.py",
)
ME = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
GOOD = {
    "bench/some.c": "int main(void)\n{\n\treturn 0;\n}\n",
    "bench/some.sh": '#!/bin/sh\necho "$1"\n',
    "bench/some.py": '"""Nothing."""\n',
    "docs/use/some.md": "It is short. We receive it.\n",
}
WRONG = {
    "C style": ("bench/some.c", "int main( ) { return 0; }\n"),
    "shellcheck": ("bench/some.sh", "#!/bin/sh\necho $1\n"),
    "ruff": ("bench/some.py", "import os\n"),
    "Python format": ("bench/some.py", "x=1\n"),
    "sentences": ("docs/use/some.md", "one two " * 9 + ".\n"),
    "spelling": ("docs/use/some.md", "We rec" + "ieve it.\n"),
}
LINTERS = {"clang-format", "shellcheck", "ruff", "spellintian"}


class Repository:
    def __init__(self, top):
        self.top = top
        self.git("init", "-q")
        for name in COMES_ALONG:
            self.write(name, (TOP / name).read_text())
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "begin")

    def git(self, *words):
        subprocess.run(["git", *ME, "-C", self.top, *words], check=True, capture_output=True)

    def write(self, name, text):
        (self.top / name).parent.mkdir(parents=True, exist_ok=True)
        (self.top / name).write_text(text)

    def stage(self, files):
        for name, text in files.items():
            self.write(name, text)
        self.git("add", "-A")

    def hook(self, path=os.environ["PATH"]):
        """(exit status, what it says last)"""
        env = os.environ | {"PATH": str(path)}
        done = subprocess.run(
            [HOOK], cwd=self.top, env=env, capture_output=True, text=True, check=False
        )
        lines = done.stderr.splitlines()
        return done.returncode, lines[-1] if lines else ""


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path)


@pytest.fixture(scope="module")
def without_linters(tmp_path_factory):
    """A PATH with all that this one has but the linters."""
    folder = tmp_path_factory.mktemp("bin")
    for place in os.environ["PATH"].split(":"):
        for program in os.scandir(place) if os.path.isdir(place) else ():
            if program.name not in LINTERS and not (folder / program.name).is_symlink():
                (folder / program.name).symlink_to(program.path)
    return folder


def test_what_is_right_is_committed_in_silence(repository):
    repository.stage(GOOD)
    assert repository.hook() == (0, "")


@pytest.mark.parametrize("name", WRONG)
def test_each_linter_has_its_say(repository, name):
    file, text = WRONG[name]
    repository.stage(GOOD | {file: text})
    code, said = repository.hook()
    assert code == 1
    assert said.startswith(f"pre-commit: nothing is committed: {name} (above)")


def test_what_is_staged_counts_and_not_what_lies_there(repository):
    file, wrong = WRONG["ruff"]
    repository.stage({file: wrong})
    repository.write(file, GOOD[file])
    assert repository.hook()[0] == 1
    repository.stage({})
    repository.write(file, wrong)
    assert repository.hook() == (0, "")


def test_what_was_there_before_is_not_looked_at(repository):
    file, wrong = WRONG["ruff"]
    repository.stage({file: wrong})
    repository.git("commit", "-q", "-m", "no hook here")
    repository.stage({"docs/use/some.md": GOOD["docs/use/some.md"]})
    assert repository.hook() == (0, "")
    repository.git("rm", "-q", file)
    assert repository.hook() == (0, "")


def test_what_this_host_lacks_is_named(repository, without_linters):
    repository.stage(GOOD)
    code, said = repository.hook(without_linters)
    assert code == 0
    assert said.startswith("pre-commit: not here, so ./vmtest.sh lint has the word: ")
    assert LINTERS <= set(said.replace(",", "").split())


@pytest.mark.parametrize("name", ["C style", "shellcheck", "ruff"])
def test_the_linters_of_the_root_do_as_well(repository, without_linters, name):
    """Here the root is all that there is."""
    (repository.top / "build").mkdir()
    (repository.top / "build/root").symlink_to("/")
    repository.write(".gitignore", "build\n")
    file, text = WRONG[name]
    repository.stage(GOOD | {file: text})
    code, said = repository.hook(without_linters)
    assert code == 1 and f" {name} " in said
