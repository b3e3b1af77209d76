#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Is all there in a kernel's BTF that the bridge and the BPF objects take from it?

check.py BTF [--kmod DIRECTORY] [--objects DIRECTORY...]

For kernels that are not booted, and beside the smoke set. The bridge's fields and functions are
those of its own tables (kmod/layout.h, kernel_private.h), for the features that kmod/features.sh
finds in that BTF; the objects' relocations are resolved by libbpf. Not in BTF, and so not looked
for: the helpers' descriptions (MSB_PROTOS), which are data.

Exit status: 0 when all is there; 1 with one line for each thing that is not.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from btf import Btf, co_re, unresolved

TOP = Path(__file__).resolve().parents[2]


def features(btf, kmod, scratch):
    """What the bridge is compiled with there, by its own detection."""
    types, functions = scratch / "vmlinux.h", scratch / "functions"
    types.write_text(btf.as_c())
    functions.write_text("\n".join(btf.functions) + "\n")
    done = subprocess.run(
        ["sh", kmod / "features.sh", types, functions], capture_output=True, text=True, check=False
    )
    return done.stdout.split(), done.stderr.strip()


def expanded(header, options, lines):
    """Macros of a header of the bridge; not the kernel's headers, which it includes."""
    source = "".join(
        line
        for line in header.read_text().splitlines(keepends=True)
        if not line.startswith("#include")
    )
    text = source + "\nBEGIN_OF_TABLE\n" + "\n".join(lines) + "\n"
    done = subprocess.run(
        ["clang", "-E", "-P", *options, "-"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{header}: {done.stderr}")
    return done.stdout.partition("BEGIN_OF_TABLE")[2]


def fields(kmod, options):
    """(struct, member) of all that the bridge's tables name."""
    tables = ["MSB_PRIVATE_FIELDS(F, F)", "MSB_HEADER_FIELDS(F, F)"]
    return re.findall(r"\bF\((\w+), (\w+)\)", expanded(kmod / "layout.h", options, tables))


def functions(kmod, options):
    tables = ["MSB_FUNCTIONS(S)", "MSB_API_FUNCTIONS(S)", "MSB_PROBED(S)"]
    return re.findall(r"\bS\((\w+)[,)]", expanded(kmod / "kernel_private.h", options, tables))


def kfuncs(kmod, options):
    """(the module's own, those that are functions of the kernel), as bridge.h tells them apart."""
    both = expanded(kmod / "bridge.h", options, ["MSB_KFUNCS(OWN) MSB_VMLINUX_KFUNCS(KERNEL)"])
    return re.findall(r"\bOWN\((\w+),", both), re.findall(r"\bKERNEL\((\w+),", both)


def missing_of_the_bridge(btf, kmod, options):
    for struct, member in fields(kmod, options):
        t = btf.structs.get(struct)
        if not t:
            yield f"bridge: no struct {struct}"
        elif not btf.has_member(t, member):
            yield f"bridge: struct {struct} has no {member}"
    own, of_the_kernel = kfuncs(kmod, options)
    for name in functions(kmod, options) + of_the_kernel:
        if name not in btf.functions:
            yield f"bridge: no function {name}"
    for name in own:
        if name in btf.functions:
            yield f"bridge: the kernel has a function {name} of its own"


def attached_to(program):
    """(how, where) of the programs of an object, by the names of its sections."""
    said = subprocess.run(
        ["llvm-objdump", "-h", program], capture_output=True, text=True, check=True
    )
    return set(re.findall(r"\s(tp_btf|fentry|fexit|iter)/(\w+)\s", said.stdout))


def objects(directories, get_send):
    """Those for a kernel with this form of the hooks: a scheduler is built for either."""
    for directory in directories:
        every = {p.name: p for p in sorted(directory.glob("*.bpf.o"))}
        for name, path in every.items():
            old, new = name.endswith(".pre615.bpf.o"), name.replace(".pre615", "")
            has_two = new.replace(".bpf.o", ".pre615.bpf.o") in every
            if not has_two or old != get_send:
                yield path


def missing_of_an_object(btf, program, scratch):
    found = co_re(btf.path, program, scratch / "min.btf")
    for what in unresolved(found):
        yield f"{program.name}: no {what}"
    for how, where in sorted(attached_to(program)):
        there = {
            "tp_btf": f"btf_trace_{where}" in btf.typedefs,
            "iter": f"bpf_iter_{where}" in btf.functions,
        }.get(how, where in btf.functions)
        if not there:
            yield f"{program.name}: nothing to attach to: {how}/{where}"


def check(path, kmod, directories):
    btf = Btf(path)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        options, refused = features(btf, kmod, scratch)
        if refused:
            return [refused], ""
        bad = list(missing_of_the_bridge(btf, kmod, options))
        programs = list(objects(directories, "-DMSB_HAVE_GET_SEND" in options))
        for program in programs:
            bad += missing_of_an_object(btf, program, scratch)
        counted = (
            f"{len(fields(kmod, options))} fields, {len(functions(kmod, options))} functions, "
            f"{sum(map(len, kfuncs(kmod, options)))} kfuncs, {len(programs)} objects"
        )
    return bad, counted


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("btf", type=Path)
    parser.add_argument("--kmod", type=Path, default=TOP / "kmod")
    parser.add_argument(
        "--objects", type=Path, nargs="+", default=[TOP / "build/bpf", TOP / "build/loader/bpf"]
    )
    args = parser.parse_args()
    bad, counted = check(args.btf, args.kmod, args.objects)
    for line in bad:
        print(line)
    if not bad:
        print(f"all there: {counted}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
