// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/btf.h>
#include "cli/util.h"
#include "kernel/bridge.h"
#include "kernel/kern.h"

static const struct {
	const char *hook, *kernels;
	int args;
} forms[NR_FORMS] = {
	[FORM_SEND] = { "get_send", "6.16 and newer", 1 },
	[FORM_PRE615] = { "get_subflow", "up to 6.14", 2 },
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

/* How many arguments the hook of this form has in the struct; negative: there is none. */
static int hook_args(const struct btf *btf, __u32 id, enum form form)
{
	const struct btf_member *m = id ? btf_member(btf, id, forms[form].hook) : NULL;
	const struct btf_type *t = m ? btf__type_by_id(btf, m->type) : NULL;

	if (t && btf_is_ptr(t))
		t = btf__type_by_id(btf, t->type);
	return t && btf_is_func_proto(t) ? btf_vlen(t) : -1;
}

bool struct_has_form(const struct btf *btf, __u32 id, enum form form)
{
	return hook_args(btf, id, form) == forms[form].args;
}

unsigned int kern_fallback_bit(void)
{
	char line[16];

	/* net/mptcp/protocol.h of 6.12 to 7.3, for as long as the bridge is not there */
	return read_line("/sys/module/" BRIDGE "/parameters/fallback_bit", line, sizeof(line))
		       ? 2
		       : (unsigned int)atoi(line);
}

void kern_probe(struct kern *k)
{
	struct btf *btf = kern_btf();
	__u32 ops;
	int id;

	memset(k, 0, sizeof(*k));
	k->mptcp = !access(SYSCTL_DIR "/scheduler", F_OK);
	if (!btf)
		return;
	id = btf__find_by_name_kind(btf, SCHED_OPS, BTF_KIND_STRUCT);
	ops = id > 0 ? (__u32)id : 0;
	k->form = struct_has_form(btf, ops, FORM_SEND) ? FORM_SEND : FORM_PRE615;
	k->btf = struct_has_form(btf, ops, k->form);
	k->foreign = !k->btf && hook_args(btf, ops, FORM_SEND) >= 0;
	if (btf__find_by_name_kind(btf, SCHED_OPS_VALUE, BTF_KIND_STRUCT) > 0)
		k->support = SUPPORT_NATIVE;
	else if (bridge_works())
		k->support = SUPPORT_BRIDGE;
}

/*
 * Who cannot tell a pass that was asked for must not ask (mps_can_ask(), bpf/kernel/kfuncs.h), and
 * without the clock it would not be known when. An older bridge has not all of them.
 */
static const struct {
	const char *name;
	__u32 kind;
} for_copies[] = {
	{ RETRANS_KFUNC, BTF_KIND_FUNC },
	{ PASS_KFUNC, BTF_KIND_FUNC },
	{ SCHED_CLOCK_VALUE, BTF_KIND_STRUCT },
};

static const char *missing_for_copies(const struct btf *btf)
{
	unsigned int i;

	for (i = 0; i < sizeof(for_copies) / sizeof(for_copies[0]); i++)
		if (btf__find_by_name_kind(btf, for_copies[i].name, for_copies[i].kind) <= 0)
			return for_copies[i].name;
	return NULL;
}

const char *kern_retrans_missing(void)
{
	struct btf *vmlinux = kern_btf(), *bridge = NULL;
	const char *missing;

	if (!vmlinux)
		return RETRANS_KFUNC;
	missing = missing_for_copies(vmlinux);
	/* its BTF comes and goes with the module */
	if (missing && !access("/sys/kernel/btf/" BRIDGE, R_OK))
		bridge = btf__load_module_btf(BRIDGE, vmlinux);
	if (bridge)
		missing = missing_for_copies(bridge);
	btf__free(bridge);
	return missing;
}

bool kern_has_retrans(void)
{
	return !kern_retrans_missing();
}

static struct bridge for_retrans;

bool kern_want_retrans(void)
{
	if (kern_has_retrans())
		return true;
	bridge_bring(&for_retrans);
	if (kern_has_retrans())
		return true;
	if (for_retrans.works) {
		snprintf(for_retrans.why, sizeof(for_retrans.why),
			 "the one that is loaded has no %s: it is of another version",
			 kern_retrans_missing());
		snprintf(for_retrans.todo, sizeof(for_retrans.todo),
			 "unload all schedulers, `rmmod " BRIDGE
			 "`, and install it anew with DKMS or `make kmod kmod-install`");
	}
	return false;
}

const struct bridge *kern_retrans_trouble(void)
{
	return &for_retrans;
}

static enum exit_code load_bridge(struct kern *k)
{
	struct bridge b;

	bridge_bring(&b);
	if (b.works)
		kern_probe(k);
	if (k->support != SUPPORT_NONE)
		return EX_OK;
	return fail(b.no_permission ? EX_PERMISSION : EX_KERNEL, b.todo,
		    "this kernel takes no BPF schedulers by itself, and %s", b.why);
}

enum exit_code kern_require(struct kern *k)
{
	const char *hint = "`" PROGRAM " doctor` says what to do";

	kern_probe(k);
	if (!k->mptcp)
		return fail(EX_KERNEL, hint, "this kernel has no " SYSCTL_DIR "/scheduler");
	if (k->foreign)
		return fail(EX_KERNEL, HINT_FORM, FOUND_FOREIGN);
	if (!k->btf)
		return fail(EX_KERNEL, hint, "this kernel has no BTF with struct " SCHED_OPS);
	if (k->support == SUPPORT_NONE)
		return load_bridge(k);
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
