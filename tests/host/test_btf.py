# SPDX-License-Identifier: GPL-2.0
"""What the bridge is built on where the headers package has no vmlinux, and for a kernel that does not run."""

import hashlib
import re
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
from privateroot import PrivateRoot, run

KERNELS = sorted(p.parent.name for p in Path("/usr/lib/modules").glob("*/updates"))
KO = "mptcp_sched_bpf.ko"
OUT = "/tmp/out"


@pytest.fixture
def root():
    made = PrivateRoot()
    yield made
    made.close()


def make(root, kernel, *words):
    words = ["-s", "-C", "/src/kmod", f"KVER={kernel}", f"OUT={OUT}", *words]
    command = ["chroot", root.root, "make", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def described(path):
    data = path.read_bytes()
    return len(data), hashlib.sha256(data).hexdigest()


def section(name, elf):
    out = elf.with_suffix(f".{name}")
    run("objcopy", "--dump-section", f"{name}={out}", elf, elf.with_suffix(".copy"))
    return described(out)


def base(root):
    return described(root.root / OUT[1:] / "gen/base.btf")


def refusal(done):
    """The one line that says why."""
    assert done.returncode != 0
    (line,) = [x for x in done.stderr.splitlines() if not x.startswith("make")]
    return line


@pytest.mark.parametrize("kernel", KERNELS)
def test_as_the_kernel_s_own_build_makes_it(root, kernel):
    """From the image in /boot; and then by the kernel's own step, with the vmlinux that it takes."""
    vmlinux = root.headers(kernel) / "vmlinux"
    kept = vmlinux.read_bytes()
    root.without_vmlinux(kernel)
    done = make(root, kernel)
    assert (done.returncode, done.stderr) == (0, "")
    out = root.root / OUT[1:]
    ours = [section(name, out / KO) for name in (".BTF", ".BTF_ids")]
    assert ours[0][0] > 1000 and ours[1][0] > 40

    vmlinux.write_bytes(kept)
    assert base(root) == section(".BTF", vmlinux)
    (out / KO).unlink()
    # the same as then, so that no more is made anew than the last step
    version = re.search(r'PACKAGE_VERSION="(.*)"', (TOP / "kmod/dkms.conf").read_text())[1]
    options = f"-DMSB_VERSION={version} {(out / 'gen/features').read_text()}"
    no_distilling = ["resolve-btfids-flags-y=", "module-pahole-flags-y="]
    build = ["make", "-s", "-C", f"/lib/modules/{kernel}/build", f"M={OUT}"]
    options = [f"MSB_FEATURES={options}", *no_distilling]
    root.run(*build, *options, "modules", timeout=300)
    assert ours == [section(name, out / KO) for name in (".BTF", ".BTF_ids")]


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_base_that_has_the_api(root, kernel):
    """The types of the API are not the module's own there."""
    assert make(root, kernel).returncode == 0
    ko, btf = f"{OUT}/{KO}", root.root / "tmp/api.btf"
    root.run("objcopy", "--remove-section", ".BTF", ko)
    root.run("pahole", "-J", "--btf_encode_detached=/tmp/api.btf", ko)
    own = "bpf_struct_ops_mptcp_sched_clock"
    btf.write_bytes(btf.read_bytes().replace(own.encode(), own.upper().encode()))
    encode = ["/src/kmod/btf.sh", "encode", "/tmp/api.btf", f"{OUT}/gen/tools", ko]
    root.run("sh", "-c", 'cd /lib/modules/$0/build && sh "$@"', kernel, *encode)
    dump = root.run("bpftool", "-B", "/tmp/api.btf", "btf", "dump", "file", ko).stdout
    assert "'bpf_struct_ops_mptcp_sched_ops'" not in dump and f"'{own}'" in dump


@pytest.mark.parametrize("kernel", KERNELS)
def test_no_base_no_module(root, kernel):
    root.without_vmlinux(kernel)
    root.without_image(kernel)
    line = refusal(make(root, kernel))
    assert line.startswith(f"btf.sh: no BTF of kernel {kernel} to build on: no ")
    assert f"(install linux-image-{kernel})" in line
    assert not (root.root / OUT[1:] / KO).exists()
    assert not (root.root / OUT[1:] / "gen/base.btf").exists()


def test_headers_of_another_build(root):
    """Of the same release, as it may be: what the kernel says of itself counts."""
    kernel, other = KERNELS[:2]
    mine = section(".BTF", root.headers(kernel) / "vmlinux")
    theirs = (root.headers(other) / "vmlinux").read_bytes()
    (root.headers(kernel) / "vmlinux").write_bytes(theirs)
    done = make(root, kernel, "types")
    assert done.returncode == 0
    assert (
        f"vmlinux is of another build of kernel {kernel}: building on the BTF of /boot/"
        in done.stderr
    )
    assert base(root) == mine


def test_the_headers_vmlinux_where_there_is_no_image(root):
    kernel = KERNELS[0]
    root.without_image(kernel)
    done = make(root, kernel, "types")
    assert (done.returncode, done.stderr) == (0, "")
    assert base(root) == section(".BTF", root.headers(kernel) / "vmlinux")


def boot_image(packed, sectors, offset=200):
    """As the x86 boot protocol has it: a payload somewhere behind the setup code."""
    head = bytearray(512 * ((sectors or 4) + 1))
    head[0x1F1] = sectors
    head[0x202:0x206] = b"HdrS"
    head[0x248:0x250] = offset.to_bytes(4, "little") + len(packed).to_bytes(4, "little")
    return bytes(head) + b"\x90" * offset + packed + b"\xcc" * 300


@pytest.mark.parametrize("sectors", [0, 39])
@pytest.mark.parametrize("tool", ["zstd", "xz", "gzip", "lz4"])
def test_images_packed_in_each_way(root, tool, sectors):
    kernel = KERNELS[0]
    vmlinux = root.headers(kernel) / "vmlinux"
    words = {"lz4": ["-l"], "xz": ["-0", "--check=crc32"]}.get(tool, [])
    data = vmlinux.read_bytes()
    packed = subprocess.run(
        [tool, "-c", *words], input=data, check=True, capture_output=True
    ).stdout
    # gzip's own last bytes are the length
    packed += b"" if tool == "gzip" else len(data).to_bytes(4, "little")
    wanted = section(".BTF", vmlinux)
    root.without_vmlinux(kernel)
    root.without_image(kernel)
    (root.root / "boot" / f"vmlinuz-{kernel}").write_bytes(boot_image(packed, sectors))
    done = make(root, kernel, "types")
    assert (done.returncode, done.stderr) == (0, "")
    assert base(root) == wanted


def flat_image(btf):
    """As arm64 boots it: no sections; what begins like BTF, and is none, stands before it."""
    head = bytearray(4096)
    head[56:60] = b"ARMd"
    like = b"\x9f\xeb\x01\x01" + b"\x18\0\0\0" + b"\x9f\xeb\x01\0" + b"\x19\0\0\0"
    return bytes(head) + like + btf + b"\xcc" * 5000


def zboot_image(flat, tool):
    """The same as an EFI program that unpacks itself."""
    packed = subprocess.run([tool, "-c"], input=flat, check=True, capture_output=True).stdout
    packed += b"" if tool == "gzip" else len(flat).to_bytes(4, "little")
    head = b"MZ\0\0zimg" + (512).to_bytes(4, "little") + len(packed).to_bytes(4, "little")
    return head.ljust(512, b"\0") + packed + b"\xcc" * 300


@pytest.mark.parametrize("tool", [None, "gzip", "zstd"])
def test_images_of_arm64(root, tool):
    kernel = KERNELS[0]
    vmlinux = root.headers(kernel) / "vmlinux"
    wanted = section(".BTF", vmlinux)
    flat = flat_image(vmlinux.with_suffix("..BTF").read_bytes())
    root.without_vmlinux(kernel)
    root.without_image(kernel)
    image = zboot_image(flat, tool) if tool else flat
    (root.root / "boot" / f"vmlinuz-{kernel}").write_bytes(image)
    done = make(root, kernel, "types")
    assert (done.returncode, done.stderr) == (0, "")
    assert base(root) == wanted


def with_a_flat_image_without_btf(root, kernel):
    root.without_vmlinux(kernel)
    (root.root / "boot" / f"vmlinuz-{kernel}").write_bytes(flat_image(b""))
    return f"the kernel in /boot/vmlinuz-{kernel} has no BTF"


def without_zstd(root, kernel):
    root.without_vmlinux(kernel)
    (root.root / "usr/bin/zstd").unlink()
    return f"/boot/vmlinuz-{kernel} takes zstd to unpack, which is missing: install zstd"


def without_pahole(root, kernel):
    (root.root / "usr/bin/pahole").unlink()
    return "pahole is missing: install pahole (dwarves)"


def without_resolve_btfids(root, kernel):
    tool = root.headers(kernel) / "tools/bpf/resolve_btfids/resolve_btfids"
    tool.unlink()
    return "resolve_btfids is missing: install the rest of the headers"


def without_headers(root, kernel):
    (root.modules(kernel) / "build").unlink()
    return f"install linux-headers-{kernel}"


def without_btf(root, kernel):
    config = root.headers(kernel) / "include/config/auto.conf"
    config.write_text(config.read_text().replace("CONFIG_DEBUG_INFO_BTF_MODULES=y\n", ""))
    return "is built without CONFIG_DEBUG_INFO_BTF_MODULES"


def with_a_broken_image(root, kernel):
    root.without_vmlinux(kernel)
    (root.root / "boot" / f"vmlinuz-{kernel}").write_bytes(b"\0" * 4096)
    return f"/boot/vmlinuz-{kernel} is no boot image of x86 or arm64"


def with_half_an_image(root, kernel):
    root.without_vmlinux(kernel)
    image = root.root / "boot" / f"vmlinuz-{kernel}"
    data = image.read_bytes()
    image.write_bytes(data[: len(data) // 2])
    return f"zstd cannot unpack /boot/vmlinuz-{kernel}"


BROKEN = [
    without_zstd,
    without_pahole,
    without_resolve_btfids,
    without_headers,
    without_btf,
    with_a_broken_image,
    with_a_flat_image_without_btf,
    with_half_an_image,
]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda f: f.__name__)
def test_what_is_missing_is_named(root, broken):
    kernel = KERNELS[0]
    wanted = broken(root, kernel)
    assert wanted in refusal(make(root, kernel, "types"))
