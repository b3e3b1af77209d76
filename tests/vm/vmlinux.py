#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The kernel inside a boot image, and what a headers package has of it.

vmlinux.py extract IMAGE OUT       the ELF file, with its BTF, out of the compressed payload
vmlinux.py symvers VMLINUX OUT     Module.symvers: the names that the kernel exports

Where the archive has headers, both come with them; fetch-kernel.sh makes them where it has none.
"""

import lzma
import struct
import subprocess
import sys
from pathlib import Path

# Of the x86 boot protocol: setup sectors, offset and length of the payload behind them
SETUP_SECTS, PAYLOAD = 0x1F1, 0x248
# In __kflagstab
GPL_ONLY = 1


def payload(image):
    if image[0x202:0x206] != b"HdrS":
        raise SystemExit("vmlinux.py: not a bootable x86 kernel image")
    offset, length = struct.unpack_from("<II", image, PAYLOAD)
    start = ((image[SETUP_SECTS] or 4) + 1) * 512 + offset
    # the last four bytes are the length of what comes out
    return image[start : start + length - 4]


def unpacked(data):
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        return subprocess.run(["zstd", "-dcq"], input=data, check=True, capture_output=True).stdout
    if data.startswith(b"\xfd7zXZ\0"):
        return lzma.decompress(data)
    raise SystemExit(f"vmlinux.py: compressed in an unknown way: {data[:6].hex(' ')}")


def exported(path):
    """(name, is it GPL only) of each symbol: names lie at an offset from their entry."""
    from elftools.elf.elffile import ELFFile  # python3-pyelftools

    with open(path, "rb") as f:
        elf = ELFFile(f)
        strings = elf.get_section_by_name("__ksymtab_strings")
        text, base = strings.data(), strings["sh_addr"]
        # one table with a byte of flags each, or one table of each kind
        flags = elf.get_section_by_name("__kflagstab")
        for table in ("__ksymtab", "__ksymtab_gpl"):
            found = elf.get_section_by_name(table)
            if not found:
                continue
            kinds = flags.data() if flags else None
            for i, (_, name, _) in enumerate(struct.iter_unpack("<iii", found.data())):
                at = found["sh_addr"] + 12 * i + 4 + name - base
                gpl = kinds[i] & GPL_ONLY if kinds else table.endswith("gpl")
                yield text[at : text.index(b"\0", at)].decode(), bool(gpl)


def symvers(path):
    for name, gpl in sorted(exported(path)):
        yield f"0x00000000\t{name}\tvmlinux\tEXPORT_SYMBOL{'_GPL' * gpl}\t\n"


def main():
    verb, source, out = sys.argv[1:]
    if verb == "extract":
        Path(out).write_bytes(unpacked(payload(Path(source).read_bytes())))
    elif verb == "symvers":
        lines = list(symvers(source))
        if not lines:
            raise SystemExit(f"vmlinux.py: {source} exports nothing")
        Path(out).write_text("".join(lines))
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
