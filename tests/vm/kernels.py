#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The kernels of kernels.toml, and those of them that the root has; runs inside the root.

kernels.py choose WORD     "NAME RELEASE RUNS" of each kernel that --kernel WORD means; RELEASE is
                           "-" for one that has to be fetched first
kernels.py shell NAME      its entry, for a shell to read
kernels.py list            the list
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import tomllib

LIST = Path(__file__).with_suffix(".toml")
BOOT = Path("/boot")
MODULES = Path("/usr/lib/modules")
BTF = Path("/usr/src/btf")
FIELDS = {"name", "series", "flavour", "architecture", "had", "runs", "image"}
OPTIONAL = {"config", "off", "modules", "ci", "note"}


class UnknownKernel(Exception):
    pass


def known():
    """{name: entry}, as the file has them."""
    entries = tomllib.loads(LIST.read_text())["kernel"]
    for entry in entries:
        missing, strange = FIELDS - entry.keys(), entry.keys() - FIELDS - OPTIONAL
        if missing or strange:
            raise SystemExit(f"{LIST.name}: {entry}: fields {missing or strange}")
    return {entry["name"]: entry for entry in entries}


def by_version(release):
    return [(0, int(w), "") if w.isdigit() else (1, 0, w) for w in re.findall(r"\d+|\D+", release)]


def fetched():
    """{release: name} of what came in by fetch-kernel.sh; without a name, not all of it did."""
    marks = MODULES.glob("*/.fetched")
    return {mark.parent.name: mark.read_text().strip() for mark in marks}


def own():
    """Releases of the root's own kernels, the oldest first, whatever else was fetched since."""
    images = {p.name.removeprefix("vmlinuz-") for p in BOOT.glob("vmlinuz-*")}
    return sorted(images - fetched().keys(), key=by_version)


def release_of(entry):
    """Of a kernel in the list; None where the root does not have it."""
    if entry["had"] == "root":
        found = [r for r in own() if r.startswith(entry["series"] + ".")]
    elif entry["had"] == "image":
        found = [p.name for p in BTF.glob(f"{entry['series']}.*")]
    else:
        found = [r for r, name in fetched().items() if name == entry["name"]]
    return max(found, key=by_version, default=None)


def named(release):
    """The list's name of one of the root's own kernels, or its series where it has none."""
    for entry in known().values():
        if entry["had"] == "root" and release.startswith(entry["series"] + "."):
            return entry["name"]
    return ".".join(release.split(".")[:2])


def choose(word):
    """(name, release or None, runs) of each kernel that a word means."""
    entries, mine = known(), own()
    if not mine:
        raise UnknownKernel("the root has no kernel; remove build/root and try again")
    groups = {"latest": mine[-1:], "lts": mine[:1], "all": mine}
    if word in groups:
        return [(named(r), r, "full") for r in groups[word]]
    if word in ("every", "ci"):
        return [
            (e["name"], release_of(e), e["runs"])
            for e in entries.values()
            if word == "every" or e.get("ci")
        ]
    if word in entries:
        entry = entries[word]
        return [(word, release_of(entry), entry["runs"])]
    exact = [(e["name"], word, e["runs"]) for e in entries.values() if release_of(e) == word]
    if exact:
        return exact
    begins = [r for r in mine if r == word or re.match(re.escape(word) + r"[-+.]", r)]
    if begins:
        return [(named(r), r, "full") for r in begins]
    words = " ".join(["latest", "lts", "all", "every", *entries])
    raise UnknownKernel(f"no kernel '{word}'; there are: {words}, or a path")


def newest_package(pattern):
    """Of the archive's packages with a name of that pattern; * stands for a version."""
    head, _, tail = pattern.partition("*")
    names = subprocess.run(
        ["apt-cache", "pkgnames", head], capture_output=True, text=True, check=True
    ).stdout.split()
    wanted = re.compile(re.escape(head) + r"[\d.]+" + re.escape(tail))
    return max(filter(wanted.fullmatch, names), key=by_version, default="")


def shell(entry):
    for key in sorted(FIELDS | OPTIONAL):
        value = entry.get(key, "")
        text = " ".join(value) if isinstance(value, list) else str(value)
        yield f"{key}={shlex.quote(text)}"


def main():
    match sys.argv[1:]:
        case ["choose", word]:
            try:
                for name, release, runs in choose(word):
                    print(name, release or "-", runs)
            except UnknownKernel as error:
                print(error, file=sys.stderr)
                return 2
        case ["shell", name]:
            print("\n".join(shell(known()[name])))
        case ["newest", pattern]:
            print(newest_package(pattern))
        case ["list"]:
            for entry in known().values():
                print(f"{entry['name']:12} {entry['runs']:7} {entry.get('note', '')}".rstrip())
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
