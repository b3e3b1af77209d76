// SPDX-License-Identifier: GPL-2.0
/* One function per requirement; each says what it found and what to do. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/utsname.h>
#include <bpf/libbpf.h>
#include "cli/caps.h"
#include "cli/output.h"
#include "cli/subprocess.h"
#include "cli/util.h"
#include "cmd/commands.h"
#include "cmd/doctor.h"
#include "kernel/kconfig.h"
#include "kernel/kern.h"

static bool all_required_pass;

static const struct output_col cols[] = {
	{ "result", "RESULT", OUTPUT_LEFT },
	{ "check", "CHECK", OUTPUT_LEFT },
	{ "found", "FOUND", OUTPUT_LEFT },
	{ NULL, NULL, OUTPUT_LEFT },
};

void doctor_row(enum grade grade, const char *what, const char *todo, const char *found, ...)
{
	static const char *const grades[] = { "ok", "warn", "fail" };
	output_t *item = output_item(output_list(output_root(), "checks"));
	char text[1500];
	va_list ap;

	va_start(ap, found);
	vsnprintf(text, sizeof(text), found, ap);
	va_end(ap);
	output_str(item, "result", "%s", grades[grade]);
	output_str(item, "check", "%s", what);
	output_str(item, "found", "%s", text);
	if (grade == GRADE_OK)
		output_null(item, "todo");
	else
		output_str(item, "todo", "%s", todo);
	all_required_pass &= grade != GRADE_FAIL;
}

/* What it can do is found out below, not read from its number. */
static void tell_version(void)
{
	struct utsname un;

	uname(&un);
	doctor_row(GRADE_OK, "kernel", NULL, "%s", un.release);
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
		doctor_row(GRADE_WARN, "kernel options",
			   "`modprobe configs`, or install the kernel's config in /boot", "%s",
			   source);
		return;
	}
	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		bool set = kconfig_has(options[i].name);

		if (options[i].bridge && k->support == SUPPORT_NATIVE)
			continue;
		doctor_row(set ? GRADE_OK : options[i].missing, options[i].name, options[i].todo,
			   "%s in %s", set ? "set" : "not set", source);
	}
}

static void check_btf(const struct kern *k)
{
	if (k->foreign) {
		doctor_row(GRADE_FAIL, "kernel BTF", HINT_FORM, FOUND_FOREIGN);
		return;
	}
	doctor_row(k->btf ? GRADE_OK : GRADE_FAIL, "kernel BTF",
		   "boot a kernel with CONFIG_DEBUG_INFO_BTF and CONFIG_MPTCP",
		   k->btf ? "struct " SCHED_OPS " with %s"
			  : "no usable /sys/kernel/btf/vmlinux%.0s",
		   form_hook(k->form));
}

static void check_mptcp(const struct kern *k)
{
	char line[16] = "";

	if (!k->mptcp) {
		doctor_row(GRADE_FAIL, "MPTCP schedulers",
			   "boot a kernel with CONFIG_MPTCP, 6.6 or newer",
			   "no " SYSCTL_DIR "/scheduler");
		return;
	}
	read_line(SYSCTL_DIR "/enabled", line, sizeof(line));
	doctor_row(*line == '1' ? GRADE_OK : GRADE_FAIL, "net.mptcp.enabled",
		   "`sysctl -w net.mptcp.enabled=1`, in /etc/sysctl.d for good", "%s",
		   *line ? line : "unreadable");
}

static void check_jit(void)
{
	char line[16] = "";

	if (read_line("/proc/sys/net/core/bpf_jit_enable", line, sizeof(line)))
		return;
	doctor_row(*line == '0' ? GRADE_FAIL : GRADE_OK, "net.core.bpf_jit_enable",
		   "`sysctl -w net.core.bpf_jit_enable=1`", "%s", line);
}

static void check_caps(void)
{
	char names[200];

	if (caps_missing(caps_always(CAPS_CHANGE), names, sizeof(names)))
		doctor_row(GRADE_FAIL, "capabilities", "run it as root", "missing %s", names);
	else if (caps_missing(CAPS_CHANGE, names, sizeof(names)))
		doctor_row(GRADE_WARN, "capabilities", "`" PROGRAM " help COMMAND` says what for",
			   "missing %s", names);
	else
		doctor_row(GRADE_OK, "capabilities", NULL, "all");
}

static void check_libbpf(void)
{
	bool enough = libbpf_major_version() > 1 ||
		      (libbpf_major_version() == 1 && libbpf_minor_version() >= 6);

	doctor_row(enough ? GRADE_OK : GRADE_FAIL, "libbpf", "build with libbpf 1.6 or newer", "%s",
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

		doctor_row(found ? GRADE_OK : GRADE_WARN, tools[i].name, tools[i].todo, "%s",
			   found ? path : "not found");
	}
}

/* Below the table, which their length would tear apart. */
static void print_todo(output_t *checks)
{
	size_t i, n = json_object_array_length(checks);

	for (i = 0; i < n; i++) {
		output_t *todo =
			json_object_object_get(json_object_array_get_idx(checks, i), "todo");
		output_t *what =
			json_object_object_get(json_object_array_get_idx(checks, i), "check");

		if (todo)
			output_line("%s: %s", json_object_get_string(what),
				    json_object_get_string(todo));
	}
}

enum exit_code cmd_doctor(const struct args *args)
{
	output_t *checks = output_list(output_root(), "checks");
	struct kern k;

	all_required_pass = true;
	kern_probe(&k);
	tell_version();
	check_options(&k);
	check_btf(&k);
	check_mptcp(&k);
	check_jit();
	check_caps();
	check_libbpf();
	doctor_try_kernel(&k, args->timeout);
	doctor_try_pins();
	doctor_look_for_remains();
	check_tools();
	output_flag(output_root(), "ready", all_required_pass);
	output_table(checks, cols, "");
	output_line("%s", "");
	print_todo(checks);
	output_line(all_required_pass ? "ready" : "not ready: do what is said for each fail");
	return all_required_pass ? EX_OK : EX_KERNEL;
}
