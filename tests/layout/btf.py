# SPDX-License-Identifier: GPL-2.0
"""What a kernel's BTF says of its structs and functions, as bpftool reads it."""

import json
import re
import subprocess

MODIFIERS = {"TYPEDEF", "VOLATILE", "CONST", "RESTRICT", "TYPE_TAG"}


def bpftool(*words):
    done = subprocess.run(
        ["bpftool", *map(str, words)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"bpftool {' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


class Btf:
    def __init__(self, path):
        self.path = path
        self.types = {
            t["id"]: t for t in json.loads(bpftool("-j", "btf", "dump", "file", path))["types"]
        }
        kinds = {"STRUCT": {}, "FUNC": {}, "TYPEDEF": {}}
        for t in self.types.values():
            kinds.get(t["kind"], {}).setdefault(t["name"], t)
        self.structs, self.functions, self.typedefs = kinds.values()

    def as_c(self):
        return bpftool("btf", "dump", "file", self.path, "format", "c")

    def plain(self, type_id):
        """The type behind typedefs and qualifiers."""
        t = self.types.get(type_id)
        while t and t["kind"] in MODIFIERS:
            t = self.types.get(t["type_id"])
        return t

    def has_member(self, t, name):
        """Also inside of structs and unions that have no name."""
        for member in t["members"]:
            if member["name"] == name:
                return True
            if member["name"] == "(anon)":
                inner = self.plain(member["type_id"])
                if inner and "members" in inner and self.has_member(inner, name):
                    return True
        return False


# "relo #3: <byte_off> [64] struct net_device._tx (...)", then each candidate that it fits
RELOCATION = re.compile(
    r"relo #\d+: (matching candidate #\d+ )?<(\w+)> \[\d+\] (?:struct |union |enum |typedef )?(\S+)"
)


def relocations(said):
    """[(kind, what, has it a target)] by what bpftool -d says of an object's CO-RE relocations."""
    found = []
    for matching, kind, what in RELOCATION.findall(said):
        if matching:
            # of the relocation that was announced last
            found[-1][2] = True
        else:
            found.append([kind, what, False])
    return [tuple(one) for one in found]


def unresolved(found):
    """Of those, what has no target though the object does not ask whether it is there."""
    asked = {what for kind, what, there in found if kind.endswith("_exists") and not there}
    return sorted(
        f"{what} ({kind})"
        for kind, what, there in set(found)
        if not there
        and not kind.endswith("_exists")
        and not any(what == a or what.startswith(a + ".") for a in asked)
    )


def co_re(kernel, program, scratch):
    """The relocations of a BPF object against a kernel's BTF: libbpf's own code resolves them."""
    done = subprocess.run(
        ["bpftool", "-d", "gen", "min_core_btf", kernel, scratch, program],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"bpftool gen min_core_btf {program}: {done.stderr[-2000:]}")
    return relocations(done.stderr + done.stdout)
