// SPDX-License-Identifier: GPL-2.0
/*
 * Registration of the kfuncs.
 *
 * A program finds a kfunc by name: libbpf looks into vmlinux's BTF first, then
 * into the modules'. Names that are functions of vmlinux must therefore be
 * allowed in vmlinux's own set; the others are ordinary kfuncs of this module.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include "bridge.h"
#include "kernel_private.h"
#include "api.h"

/* Since 7.0 every kfunc takes trusted arguments only, and the flag is gone. */
#ifndef KF_TRUSTED_ARGS
#define KF_TRUSTED_ARGS 0
#endif

/* A kernel limit: BTF_KFUNC_SET_MAX_CNT, kernel/bpf/btf.c */
#define MSB_KFUNC_SET_MAX 256

/* In the order of the table, so that index, name, flags and address agree. */
#define MSB_ID(name, flags) BTF_ID(func, name)
BTF_ID_LIST(msb_kfunc_ids)
MSB_KFUNCS(MSB_ID)

struct msb_kfunc {
	const char *name;
	u32 flags;
	void *addr;
};

#define MSB_ENTRY(name, flags) { #name, flags, name },
static const struct msb_kfunc msb_kfuncs[] = { MSB_KFUNCS(MSB_ENTRY) };
#define MSB_VMLINUX_ENTRY(name, flags) { #name, flags, NULL },
static const struct msb_kfunc msb_vmlinux_kfuncs[] = { MSB_VMLINUX_KFUNCS(MSB_VMLINUX_ENTRY) };

/* Ours are the last of the table, and of these the request for tracing programs, too. */
#define MSB_COUNT(name, flags) +1
#define MSB_OWN (ARRAY_SIZE(msb_kfuncs) - (MSB_OWN_KFUNCS(MSB_COUNT)))
#define MSB_ANYWHERE (ARRAY_SIZE(msb_kfuncs) - (0 MSB_KFUNCS_REQUEST(MSB_COUNT)))

struct msb_set {
	struct btf_id_set8 head;
	typeof(((struct btf_id_set8 *)0)->pairs[0]) pairs[ARRAY_SIZE(msb_kfuncs)];
};
static struct msb_set msb_struct_ops_set, msb_tracing_set;

/*
 * The API is for MPTCP schedulers; other struct_ops programs, such as TCP
 * congestion control, have no msk to call it with. Ours look at what they are given, but one: it
 * writes what belongs to the msk's lock, which no other program has.
 */
static int msb_filter(const struct bpf_prog *prog, u32 kfunc_id)
{
	u32 i;

	if (prog->type != BPF_PROG_TYPE_STRUCT_OPS)
		return 0;
	for (i = MSB_OWN; i < ARRAY_SIZE(msb_kfuncs); i++)
		if (kfunc_id == msb_kfunc_ids[i] && msb_kfuncs[i].addr != bpf_mptcp_pass_over)
			return 0;
	return prog->aux->attach_btf_id == msb_ops_type_id() ? 0 : -EACCES;
}

static const struct btf_kfunc_id_set msb_struct_ops_kfuncs = {
	.owner = THIS_MODULE,
	.set = &msb_struct_ops_set.head,
	.filter = msb_filter,
};

static const struct btf_kfunc_id_set msb_tracing_kfuncs = {
	.owner = THIS_MODULE,
	.set = &msb_tracing_set.head,
};

static void msb_set_add(struct msb_set *set, u32 i)
{
	set->head.flags = BTF_SET8_KFUNCS;
	set->head.pairs[set->head.cnt].id = msb_kfunc_ids[i];
	set->head.pairs[set->head.cnt].flags = msb_kfuncs[i].flags;
	set->head.cnt++;
}

/*
 * The verifier takes the address of a kfunc from kallsyms, by name alone. A
 * namesake in vmlinux without BTF would be called in place of ours.
 */
static int msb_check_addresses(u32 first)
{
	u32 i;

	for (i = first; i < ARRAY_SIZE(msb_kfuncs); i++) {
		if (msb_lookup(msb_kfuncs[i].name) == (unsigned long)msb_kfuncs[i].addr)
			continue;
		pr_err("this kernel has a function %s of its own that is no kfunc; the bridge does not know it\n",
		       msb_kfuncs[i].name);
		return -EEXIST;
	}
	return 0;
}

static int msb_cmp_id(const void *a, const void *b)
{
	const u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

static bool msb_set_has(const struct btf_id_set8 *set, u32 id)
{
	u32 i;

	for (i = 0; i < set->cnt; i++)
		if (set->pairs[i].id == id)
			return true;
	return false;
}

/*
 * Allow functions of vmlinux as kfuncs of struct_ops programs. This outlives
 * the module: the functions are vmlinux's, so that is safe, and the next load
 * finds them there.
 *
 * register_btf_kfunc_id_set() would grow the set in place, under the feet of a
 * verifier that searches it at that moment, and on failure it throws away the
 * whole table. So the new set is built aside and put in place at once; the old
 * one goes when no task can still be looking at it.
 */
static int msb_allow_vmlinux(struct btf *vmlinux)
{
	const u32 n = ARRAY_SIZE(msb_vmlinux_kfuncs);
	struct btf_id_set8 **slot = (struct btf_id_set8 **)msb_kfunc_slot(vmlinux);
	struct btf_id_set8 *old = slot ? READ_ONCE(*slot) : NULL, *new;
	u32 i;

	if (!old || old->cnt + n > MSB_KFUNC_SET_MAX) {
		pr_err("the kernel's table of kfuncs for struct_ops programs is %s\n",
		       old ? "full" : "missing: it needs CONFIG_DEBUG_INFO_BTF");
		return old ? -E2BIG : -ENOENT;
	}
	new = kmalloc(struct_size(new, pairs, old->cnt + n), GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	memcpy(new, old, struct_size(old, pairs, old->cnt));

	for (i = 0; i < n; i++) {
		const struct msb_kfunc *k = &msb_vmlinux_kfuncs[i];
		s32 id = msb_call(btf_find_by_name_kind)(vmlinux, k->name, BTF_KIND_FUNC);

		if (id < 0) {
			pr_err("this kernel's BTF has no function %s\n", k->name);
			kfree(new);
			return -ENOENT;
		}
		if (msb_set_has(old, id))
			continue;
		new->pairs[new->cnt].id = id;
		new->pairs[new->cnt].flags = k->flags;
		new->cnt++;
	}
	if (new->cnt == old->cnt) {
		kfree(new);
		return 0;
	}
	sort(new->pairs, new->cnt, sizeof(new->pairs[0]), msb_cmp_id, NULL);
	smp_store_release(slot, new);
	/* the verifier searches without a lock and may be preempted there */
	synchronize_rcu_tasks();
	kfree(old);
	return 0;
}

int msb_register_kfuncs(struct btf *vmlinux, bool native)
{
	const u32 first = native ? MSB_OWN : 0;
	int err;
	u32 i;

	err = msb_check_addresses(first);
	if (!err)
		err = native ? msb_find_ops_type(vmlinux) : msb_allow_vmlinux(vmlinux);
	if (err)
		return err;

	for (i = first; i < ARRAY_SIZE(msb_kfuncs); i++)
		msb_set_add(&msb_struct_ops_set, i);
	for (i = MSB_ANYWHERE; i < ARRAY_SIZE(msb_kfuncs); i++)
		msb_set_add(&msb_tracing_set, i);

	err = register_btf_kfunc_id_set(BPF_PROG_TYPE_STRUCT_OPS, &msb_struct_ops_kfuncs);
	if (!err && msb_tracing_set.head.cnt)
		err = register_btf_kfunc_id_set(BPF_PROG_TYPE_TRACING, &msb_tracing_kfuncs);
	return msb_registered("kfuncs", err);
}
