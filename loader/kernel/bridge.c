// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <bpf/btf.h>
#include "cli/caps.h"
#include "cli/input.h"
#include "cli/subprocess.h"
#include "cli/util.h"
#include "kernel/bridge.h"
#include "kernel/kern.h"
#include "kernel/klog.h"

#define IN_SYSFS "/sys/module/" BRIDGE
#define ITS_BTF "/sys/kernel/btf/" BRIDGE
/* Its init looks for symbols and checks types; a slow machine is slow at that. */
#define MODPROBE_MS 120000

#define DKMS_NAME "mptcp-sched-bpf/" MPS_VERSION
/* DKMS takes one that it has built as done: neither autoinstall nor build --force replaces it. */
#define HINT_BUILD                                                                             \
	"build and install it for this kernel: `dkms unbuild " DKMS_NAME " -k $(uname -r) && " \
	"dkms install " DKMS_NAME "`, or `make kmod kmod-install`"
#define HINT_INSTALL "install it with DKMS or `make kmod kmod-install`"
#define HINT_SIGN                                                                                 \
	"sign it with a key that this machine trusts (DKMS: `mokutil --import "                   \
	"/var/lib/dkms/mok.pub`, then boot), or boot without Secure Boot, lockdown and enforced " \
	"signatures"
#define HINT_LINE "do what the kernel's line says; where it says nothing, " HINT_BUILD

/* Where the kernel itself would look for modprobe. */
static void modprobe_path(char *path, size_t size)
{
	if (read_line("/proc/sys/kernel/modprobe", path, size) || !*path)
		snprintf(path, size, "/sbin/modprobe");
}

/* 0, or its exit status, or a negative errno; its last line of complaint into said. */
static int modprobe(const char *option, char **out, char *said, size_t size)
{
	char path[200], *argv[] = { path, (char *)option, (char *)BRIDGE, NULL };
	struct subprocess c;
	int err;

	*out = NULL;
	modprobe_path(path, sizeof(path));
	err = subprocess_run(&c, path, argv, MODPROBE_MS, INPUT_ANSWER);
	if (err) {
		snprintf(said, size, "%s: %s", path,
			 err == -ETIME ? "it did not end within two minutes" : strerror(-err));
		return err;
	}
	snprintf(said, size, "%s", c.said);
	*out = c.out;
	return c.status;
}

/* What modprobe would do: "insmod FILE", or the command that its configuration has instead. */
static bool find_module(char *step, size_t size, char *said, size_t said_size)
{
	char *out, *last;
	int status = modprobe("-D", &out, said, said_size);

	*step = '\0';
	if (!status && out) {
		/* its own step is behind those of the modules that it needs */
		while (strlen(out) && strchr("\n ", out[strlen(out) - 1]))
			out[strlen(out) - 1] = '\0';
		last = strrchr(out, '\n');
		snprintf(step, size, "%s", last ? last + 1 : out);
	}
	free(out);
	return !status;
}

bool bridge_is_there(void)
{
	return !access(IN_SYSFS, F_OK);
}

bool bridge_is_installed(void)
{
	char step[300], said[300];

	return find_module(step, sizeof(step), said, sizeof(said));
}

static bool is_native(void)
{
	struct btf *vmlinux = kern_btf();

	return vmlinux && btf__find_by_name_kind(vmlinux, SCHED_OPS_VALUE, BTF_KIND_STRUCT) > 0;
}

/* The struct_ops type; a kernel that has it takes the kfunc for copies from the bridge. */
static bool offers(const struct btf *btf)
{
	if (is_native())
		return btf__find_by_name_kind(btf, RETRANS_KFUNC, BTF_KIND_FUNC) > 0;
	return btf__find_by_name_kind(btf, SCHED_OPS_VALUE, BTF_KIND_STRUCT) > 0;
}

/* It is there; is it of use? */
static void look(struct bridge *b)
{
	struct btf *vmlinux = kern_btf(), *btf = NULL;

	snprintf(b->todo, sizeof(b->todo), "%s%s", b->brought ? "" : "`rmmod " BRIDGE "`; ",
		 HINT_BUILD ", with headers that have a vmlinux, or pahole and this kernel's BTF");
	if (access(ITS_BTF, F_OK)) {
		snprintf(b->why, sizeof(b->why),
			 "the bridge module " BRIDGE " is loaded, but it has no BTF (no " ITS_BTF
			 "), so the kernel takes no schedulers from it");
		return;
	}
	if (vmlinux)
		btf = btf__load_module_btf(BRIDGE, vmlinux);
	b->works = btf && offers(btf);
	btf__free(btf);
	if (b->works)
		return;
	snprintf(b->why, sizeof(b->why),
		 "the bridge module " BRIDGE " is loaded, but its BTF has no %s: it was built for "
		 "another kernel",
		 is_native() ? RETRANS_KFUNC "()" : "struct " SCHED_OPS_VALUE);
}

bool bridge_works(void)
{
	struct bridge b = { .works = false };

	if (bridge_is_there())
		look(&b);
	return b.works;
}

static const char *todo_for(const char *text)
{
	static const struct {
		const char *says, *todo;
	} known[] = {
		{ "Lockdown: ", HINT_SIGN },	   { "is rejected", HINT_SIGN },
		{ "Key was rejected", HINT_SIGN }, { "Required key", HINT_SIGN },
		{ "version magic", HINT_BUILD },   { "Exec format error", HINT_BUILD },
		{ "Invalid ELF", HINT_BUILD },	   { "disagrees about version", HINT_BUILD },
		{ "Unknown symbol", HINT_BUILD },
	};
	unsigned int i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strstr(text, known[i].says))
			return known[i].todo;
	return HINT_LINE;
}

/* modprobe may be content with a module that is not there: EEXIST of its init is one reason. */
static void explain(struct bridge *b, const char *step, int status, const char *said,
		    const char *kernel, int log_err)
{
	char all[930];

	snprintf(all, sizeof(all), "%s%s%s%s", said, *said ? "; " : "",
		 *kernel   ? "the kernel: "
		 : log_err ? "the kernel's reason is in `dmesg`, which takes CAP_SYSLOG to read"
			   : "the kernel's log says nothing of it",
		 kernel);
	if (status)
		snprintf(b->why, sizeof(b->why),
			 "the bridge module " BRIDGE " could not be loaded (%s: %s)", step, all);
	else
		snprintf(b->why, sizeof(b->why),
			 "modprobe says that the bridge module " BRIDGE
			 " is loaded, but it is not there (%s: %s)",
			 step, all);
	snprintf(b->todo, sizeof(b->todo), "%s", todo_for(all));
	if (!strncmp(step, "install ", 8))
		snprintf(b->todo, sizeof(b->todo),
			 "take the line `install " BRIDGE
			 " ...` out of modprobe's configuration: `grep -r " BRIDGE
			 " /etc/modprobe.d /lib/modprobe.d` finds it");
}

static void insert(struct bridge *b, const char *step)
{
	char said[300] = "", kernel[500] = "", *out;
	int status, log_err;
	struct klog log;

	klog_begin(&log);
	caps_lend(CAP_NEED_MODULE, true);
	status = modprobe("--", &out, said, sizeof(said));
	caps_lend(CAP_NEED_MODULE, false);
	free(out);
	log_err = klog_end(&log, BRIDGE, kernel, sizeof(kernel));
	b->brought = bridge_is_there();
	if (!b->brought)
		explain(b, step, status, said, kernel, log_err);
}

/* What can be told without trying. False: it cannot be there. */
static bool may_try(struct bridge *b, char *step, size_t size)
{
	char said[300], line[16] = "", missing[100];

	if (!find_module(step, size, said, sizeof(said))) {
		snprintf(b->why, sizeof(b->why),
			 "the bridge module " BRIDGE " is not installed for this kernel (%s)",
			 said);
		snprintf(b->todo, sizeof(b->todo),
			 HINT_INSTALL "; after a kernel upgrade install its headers first, then "
				      "`dkms autoinstall`");
		return false;
	}
	if (!read_line("/proc/sys/kernel/modules_disabled", line, sizeof(line)) && *line == '1') {
		snprintf(b->why, sizeof(b->why),
			 "the bridge module " BRIDGE
			 " is not loaded, and kernel.modules_disabled is 1");
		snprintf(b->todo, sizeof(b->todo),
			 "boot, and let " BRIDGE " be loaded before that is set: a line with its "
			 "name in /etc/modules-load.d");
		return false;
	}
	if (!caps_missing(CAP_BIT(MODULE), missing, sizeof(missing)))
		return true;
	b->no_permission = true;
	snprintf(b->why, sizeof(b->why),
		 "the bridge module " BRIDGE " is installed but not loaded, and this user may not "
		 "try it: missing %s",
		 missing);
	snprintf(b->todo, sizeof(b->todo), "%s", caps_hint(EPERM, CAP_NEED_MODULE));
	return false;
}

void bridge_bring(struct bridge *b)
{
	char step[300];

	memset(b, 0, sizeof(*b));
	if (!bridge_is_there()) {
		if (!may_try(b, step, sizeof(step)))
			return;
		insert(b, step);
		if (!b->brought)
			return;
	}
	look(b);
	if (!b->works)
		bridge_take_back(b);
}

/* The kernel lets go of what used it in its own time. */
void bridge_take_back(struct bridge *b)
{
	unsigned int ms;

	for (ms = 0; b->brought && ms < RELEASE_MS; ms += POLL_MS) {
		if (!syscall(SYS_delete_module, BRIDGE, O_NONBLOCK) || errno == ENOENT)
			b->brought = false;
		else
			sleep_ms(POLL_MS);
	}
}
