// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bpf/btf.h>
#include "caps.h"
#include "kern.h"
#include "util.h"

extern char **environ;

static const struct {
	const char *hook, *kernels;
} forms[NR_FORMS] = {
	[FORM_SEND] = { "get_send", "6.15 and newer" },
	[FORM_PRE615] = { "get_subflow", "up to 6.14" },
};

const char *form_hook(enum form form)
{
	return forms[form].hook;
}

const char *form_kernels(enum form form)
{
	return forms[form].kernels;
}

const char *support_name(enum support support)
{
	static const char *const names[] = { "none", "bridge", "native" };

	return names[support];
}

struct btf *kern_btf(void)
{
	static struct btf *btf;
	static bool tried;

	if (!tried) {
		tried = true;
		btf = btf__load_vmlinux_btf();
	}
	return btf;
}

bool btf_has_form(const struct btf *btf, enum form form)
{
	int id = btf__find_by_name_kind(btf, SCHED_OPS, BTF_KIND_STRUCT);

	return id > 0 && btf_member(btf, (unsigned int)id, forms[form].hook);
}

bool kern_bridge_loaded(void)
{
	return !access("/sys/kernel/btf/" BRIDGE, F_OK);
}

void kern_probe(struct kern *k)
{
	struct btf *btf = kern_btf();

	memset(k, 0, sizeof(*k));
	k->mptcp = !access(SYSCTL_DIR "/scheduler", F_OK);
	if (!btf)
		return;
	k->form = btf_has_form(btf, FORM_SEND) ? FORM_SEND : FORM_PRE615;
	k->btf = btf_has_form(btf, k->form);
	if (btf__find_by_name_kind(btf, SCHED_OPS_VALUE, BTF_KIND_STRUCT) > 0)
		k->support = SUPPORT_NATIVE;
	else if (!access("/sys/kernel/btf/" BRIDGE, F_OK))
		k->support = SUPPORT_BRIDGE;
}

/* Where the kernel itself would look for modprobe. */
static void modprobe_path(char *path, size_t size)
{
	if (read_line("/proc/sys/kernel/modprobe", path, size) || !*path)
		snprintf(path, size, "/sbin/modprobe");
}

/* 0 or modprobe's exit status; its first line of complaint into why. */
static int run_modprobe(const char *option, char *why, size_t size)
{
	char path[256], *argv[] = { path, (char *)option, (char *)BRIDGE, NULL };
	posix_spawn_file_actions_t fa;
	int pipefd[2], status = -1, err;
	ssize_t n;
	pid_t pid;

	modprobe_path(path, sizeof(path));
	if (pipe2(pipefd, O_CLOEXEC))
		return -1;
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, pipefd[1], STDERR_FILENO);
	err = posix_spawn(&pid, path, &fa, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	close(pipefd[1]);
	if (err) {
		snprintf(why, size, "%s: %s", path, strerror(err));
	} else {
		n = read(pipefd[0], why, size - 1);
		why[n > 0 ? n : 0] = '\0';
		why[strcspn(why, "\n")] = '\0';
		waitpid(pid, &status, 0);
	}
	close(pipefd[0]);
	return status;
}

static int insert_bridge(char *why, size_t size)
{
	int status;

	caps_lend(CAP_NEED_MODULE, true);
	status = run_modprobe("--", why, size);
	caps_lend(CAP_NEED_MODULE, false);
	return status;
}

bool kern_bridge_installed(void)
{
	char why[300] = "";

	return !run_modprobe("--dry-run", why, sizeof(why));
}

bool kern_has_retrans(void)
{
	struct btf *vmlinux = kern_btf(), *bridge = NULL;
	bool has;

	if (!vmlinux)
		return false;
	has = btf__find_by_name_kind(vmlinux, RETRANS_KFUNC, BTF_KIND_FUNC) > 0;
	/* its BTF comes and goes with the module */
	if (!has && !access("/sys/kernel/btf/" BRIDGE, R_OK))
		bridge = btf__load_module_btf(BRIDGE, vmlinux);
	if (bridge)
		has = btf__find_by_name_kind(bridge, RETRANS_KFUNC, BTF_KIND_FUNC) > 0;
	btf__free(bridge);
	return has;
}

bool kern_want_retrans(void)
{
	char why[300] = "";

	if (!kern_has_retrans() && access("/sys/module/" BRIDGE, F_OK))
		insert_bridge(why, sizeof(why));
	return kern_has_retrans();
}

static enum exit_code load_bridge(const char *operation, const char *object, struct kern *k)
{
	char why[300] = "";
	int status;

	status = insert_bridge(why, sizeof(why));
	if (!status)
		kern_probe(k);
	if (k->support != SUPPORT_NONE)
		return EX_OK;
	if (kern_bridge_installed() && caps_hint(EPERM, CAP_NEED_MODULE))
		return fail(EX_PERMISSION, operation, object, caps_hint(EPERM, CAP_NEED_MODULE),
			    "the bridge module " BRIDGE " could not be loaded (%s)", why);
	return fail(EX_KERNEL, operation, object,
		    "install it with DKMS or `make kmod kmod-install`; where it is installed, "
		    "`dmesg` has its reason",
		    "this kernel takes no BPF schedulers by itself and the bridge module " BRIDGE
		    " could not be loaded (%s)",
		    *why ? why : "modprobe failed");
}

enum exit_code kern_require(const char *operation, const char *object, struct kern *k)
{
	const char *hint = "`" PROGRAM " doctor` says what to do";

	kern_probe(k);
	if (!k->mptcp)
		return fail(EX_KERNEL, operation, object, hint,
			    "this kernel has no " SYSCTL_DIR "/scheduler");
	if (!k->btf)
		return fail(EX_KERNEL, operation, object, hint,
			    "this kernel has no BTF with struct " SCHED_OPS);
	if (k->support == SUPPORT_NONE)
		return load_bridge(operation, object, k);
	return EX_OK;
}

unsigned int kern_available(char (*names)[MPS_NAME_LEN])
{
	char line[MAX_AVAILABLE * MPS_NAME_LEN], *save = NULL, *word;
	unsigned int n = 0;

	if (read_line(SYSCTL_DIR "/available_schedulers", line, sizeof(line)))
		return 0;
	for (word = strtok_r(line, " ", &save); word && n < MAX_AVAILABLE;
	     word = strtok_r(NULL, " ", &save))
		snprintf(names[n++], MPS_NAME_LEN, "%s", word);
	return n;
}

bool kern_has_sched(const char *name)
{
	char names[MAX_AVAILABLE][MPS_NAME_LEN];
	unsigned int i, n = kern_available(names);

	for (i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

int kern_bridge_refs(void)
{
	char line[32];

	if (read_line("/sys/module/" BRIDGE "/refcnt", line, sizeof(line)))
		return -1;
	return atoi(line);
}
