// SPDX-License-Identifier: GPL-2.0
/* One function per requirement; each says what it found and what to do. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/utsname.h>
#include <bpf/libbpf.h>
#include "child.h"
#include "caps.h"
#include "cmd.h"
#include "kconfig.h"
#include "kern.h"
#include "out.h"
#include "registry.h"
#include "util.h"

/* MPTCP's scheduler hooks came with 6.6, struct_ops of a module's type with 6.9. */
#define MIN_MAJOR 6
#define MIN_MINOR 9

enum grade { GRADE_OK, GRADE_WARN, GRADE_FAIL };

static bool all_required_pass;

static const struct out_col cols[] = {
	{ "result", "RESULT", OUT_LEFT }, { "check", "CHECK", OUT_LEFT },
	{ "found", "FOUND", OUT_LEFT },	  { "todo", "TO DO", OUT_LEFT },
	{ NULL, NULL, OUT_LEFT },
};

static void check(enum grade grade, const char *what, const char *todo, const char *found, ...)
	__attribute__((format(printf, 4, 5)));

/* Only what is not ok has something to do. */
static void check(enum grade grade, const char *what, const char *todo, const char *found, ...)
{
	static const char *const grades[] = { "ok", "warn", "fail" };
	out_t *item = out_item(out_list(out_root(), "checks"));
	char text[300];
	va_list ap;

	va_start(ap, found);
	vsnprintf(text, sizeof(text), found, ap);
	va_end(ap);
	out_str(item, "result", "%s", grades[grade]);
	out_str(item, "check", "%s", what);
	out_str(item, "found", "%s", text);
	if (grade == GRADE_OK)
		out_null(item, "todo");
	else
		out_str(item, "todo", "%s", todo);
	all_required_pass &= grade != GRADE_FAIL;
}

static void check_version(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname un;
	bool enough;

	uname(&un);
	enough = sscanf(un.release, "%u.%u", &major, &minor) == 2 &&
		 (major > MIN_MAJOR || (major == MIN_MAJOR && minor >= MIN_MINOR));
	check(enough ? GRADE_OK : GRADE_FAIL, "kernel version", "boot a kernel 6.12 or newer", "%s",
	      un.release);
}

static void check_options(const struct kern *k)
{
	static const struct {
		const char *name;
		enum grade missing;
		const char *todo;
		bool bridge; /* only the bridge module needs it */
	} options[] = {
		{ "CONFIG_MPTCP", GRADE_FAIL, "boot a kernel with it; Debian's have it", false },
		{ "CONFIG_BPF_SYSCALL", GRADE_FAIL, "boot a kernel with it", false },
		{ "CONFIG_BPF_JIT", GRADE_FAIL, "boot a kernel with it: struct_ops needs it",
		  false },
		{ "CONFIG_DEBUG_INFO_BTF", GRADE_FAIL, "boot a kernel with it", false },
		{ "CONFIG_NET_NS", GRADE_FAIL,
		  "boot a kernel with it: sockets are told apart by it", false },
		{ "CONFIG_DEBUG_INFO_BTF_MODULES", GRADE_FAIL,
		  "boot a kernel with it: the bridge module needs it", true },
		{ "CONFIG_KALLSYMS_ALL", GRADE_WARN, "the bridge module may need it", true },
		{ "CONFIG_KPROBES", GRADE_WARN, "the bridge module needs it", true },
	};
	const char *source;
	unsigned int i;

	if (!kconfig_source(&source)) {
		check(GRADE_WARN, "kernel options",
		      "`modprobe configs`, or install the kernel's config in /boot", "%s", source);
		return;
	}
	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		bool set = kconfig_has(options[i].name);

		if (options[i].bridge && k->support == SUPPORT_NATIVE)
			continue;
		check(set ? GRADE_OK : options[i].missing, options[i].name, options[i].todo,
		      "%s in %s", set ? "set" : "not set", source);
	}
}

static void check_btf(const struct kern *k)
{
	check(k->btf ? GRADE_OK : GRADE_FAIL, "kernel BTF",
	      "boot a kernel with CONFIG_DEBUG_INFO_BTF and CONFIG_MPTCP",
	      k->btf ? "struct " SCHED_OPS " with %s" : "no usable /sys/kernel/btf/vmlinux%.0s",
	      form_hook(k->form));
}

static void check_mptcp(const struct kern *k)
{
	char line[16] = "";

	if (!k->mptcp) {
		check(GRADE_FAIL, "MPTCP schedulers",
		      "boot a kernel with CONFIG_MPTCP, 6.6 or newer",
		      "no " SYSCTL_DIR "/scheduler");
		return;
	}
	read_line(SYSCTL_DIR "/enabled", line, sizeof(line));
	check(*line == '1' ? GRADE_OK : GRADE_FAIL, "net.mptcp.enabled",
	      "`sysctl -w net.mptcp.enabled=1`, in /etc/sysctl.d for good", "%s",
	      *line ? line : "unreadable");
}

/* There the bridge is no requirement, so that without it nothing is wrong. */
static void check_native(void)
{
	check(GRADE_OK, "BPF schedulers", NULL, "%s: the kernel has the API itself",
	      support_name(SUPPORT_NATIVE));
	if (kern_bridge_loaded())
		check(GRADE_OK, "copies of data", NULL, "bridge module " BRIDGE " loaded");
	else if (kern_bridge_installed())
		check(GRADE_OK, "copies of data", NULL,
		      "bridge module " BRIDGE " installed, `load` loads it for who sends them");
	else
		check(GRADE_OK, "copies of data", NULL,
		      "no bridge module " BRIDGE ", which only who sends them needs");
}

static void check_support(const struct kern *k)
{
	if (k->support == SUPPORT_NATIVE)
		check_native();
	else if (k->support != SUPPORT_NONE)
		check(GRADE_OK, "BPF schedulers", NULL, "%s", support_name(k->support));
	else if (kern_bridge_installed())
		check(GRADE_OK, "BPF schedulers", NULL,
		      "bridge module " BRIDGE " installed, `load` loads it");
	else
		check(GRADE_FAIL, "BPF schedulers",
		      "install the bridge with DKMS or `make kmod kmod-install`, then `modprobe " BRIDGE
		      "`",
		      "none: neither the kernel nor a module " BRIDGE);
}

static void check_jit(void)
{
	char line[16] = "";

	if (read_line("/proc/sys/net/core/bpf_jit_enable", line, sizeof(line)))
		return;
	check(*line == '0' ? GRADE_FAIL : GRADE_OK, "net.core.bpf_jit_enable",
	      "`sysctl -w net.core.bpf_jit_enable=1`", "%s", line);
}

static void check_caps(void)
{
	char names[200];

	if (caps_missing(caps_always(CAPS_CHANGE), names, sizeof(names)))
		check(GRADE_FAIL, "capabilities", "run it as root", "missing %s", names);
	else if (caps_missing(CAPS_CHANGE, names, sizeof(names)))
		check(GRADE_WARN, "capabilities", "`" PROGRAM " help COMMAND` says what for",
		      "missing %s", names);
	else
		check(GRADE_OK, "capabilities", NULL, "all");
}

static void check_bpffs(void)
{
	bool mounted = is_bpffs(BPFFS);

	check(mounted ? GRADE_OK : GRADE_FAIL, BPFFS, "`mount -t bpf bpf " BPFFS "`",
	      mounted ? "a bpffs" : "not a bpffs");
}

static void check_libbpf(void)
{
	bool enough = libbpf_major_version() > 1 ||
		      (libbpf_major_version() == 1 && libbpf_minor_version() >= 6);

	check(enough ? GRADE_OK : GRADE_FAIL, "libbpf", "build with libbpf 1.6 or newer", "%s",
	      libbpf_version_string());
}

static void check_tools(void)
{
	static const struct {
		const char *name, *todo;
	} tools[] = {
		{ "ip", "`apt install iproute2`: `ip mptcp` sets up subflows" },
		{ "bpftool", "`apt install bpftool`: to look at what is loaded" },
		{ "mptcpize", "`apt install mptcpize`: runs programs that do not ask for MPTCP" },
	};
	unsigned int i;
	char path[300];

	for (i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
		bool found = find_tool(tools[i].name, path, sizeof(path));

		check(found ? GRADE_OK : GRADE_WARN, tools[i].name, tools[i].todo, "%s",
		      found ? path : "not found");
	}
}

enum exit_code cmd_doctor(const struct args *args)
{
	struct kern k;

	all_required_pass = true;
	kern_probe(&k);
	check_version();
	check_options(&k);
	check_btf(&k);
	check_mptcp(&k);
	check_support(&k);
	check_jit();
	check_caps();
	check_bpffs();
	check_libbpf();
	check_tools();
	out_flag(out_root(), "ready", all_required_pass);
	out_table(out_list(out_root(), "checks"), cols, "");
	out_line(all_required_pass ? "ready" : "not ready: do what is said for each fail");
	return all_required_pass ? EX_OK : EX_KERNEL;
}
