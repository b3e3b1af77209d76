// SPDX-License-Identifier: GPL-2.0
/*
 * The struct_ops type mptcp_sched_ops: what the verifier lets a scheduler do,
 * and how one gets into and out of the kernel's list of schedulers.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bpf.h>
#include <linux/bpf_verifier.h>
#include <linux/btf.h>
#include <linux/module.h>
#include <net/mptcp.h>
#include "bridge.h"
#include "kernel_private.h"

extern struct mptcp_sched_ops msb_stubs;

static const struct btf_type *msb_msk_type, *msb_subflow_type;
static s32 msb_ops_id;

u32 msb_ops_type_id(void)
{
	return msb_ops_id;
}

/* The type is vmlinux's own, whoever registers it. */
int msb_find_ops_type(struct btf *vmlinux)
{
	msb_ops_id = msb_call(btf_find_by_name_kind)(vmlinux, "mptcp_sched_ops", BTF_KIND_STRUCT);
	return msb_ops_id < 0 ? -ENOENT : 0;
}

static int msb_st_init(struct btf *btf)
{
	s32 msk = msb_call(btf_find_by_name_kind)(btf, "mptcp_sock", BTF_KIND_STRUCT);
	s32 subflow =
		msb_call(btf_find_by_name_kind)(btf, "mptcp_subflow_context", BTF_KIND_STRUCT);

	if (msb_find_ops_type(btf) || msk < 0 || subflow < 0) {
		pr_err("this kernel's BTF has no mptcp_sock, mptcp_subflow_context or mptcp_sched_ops: it needs CONFIG_MPTCP\n");
		return -ENOENT;
	}
	msb_msk_type = btf_type_by_id(btf, msk);
	msb_subflow_type = btf_type_by_id(btf, subflow);
	return 0;
}

const struct bpf_func_proto *msb_get_func_proto(enum bpf_func_id func_id,
						const struct bpf_prog *prog)
{
	switch (func_id) {
	case BPF_FUNC_sk_storage_get:
		return msb_bpf_sk_storage_get_proto;
	case BPF_FUNC_sk_storage_delete:
		return msb_bpf_sk_storage_delete_proto;
	case BPF_FUNC_skc_to_tcp_sock:
		return msb_bpf_skc_to_tcp_sock_proto;
	case BPF_FUNC_skc_to_tcp6_sock:
		return msb_bpf_skc_to_tcp6_sock_proto;
	default:
		return bpf_base_func_proto(func_id, prog);
	}
}

/* Two fields may be written, and only as a whole. */
static int msb_btf_struct_access(struct bpf_verifier_log *log, const struct bpf_reg_state *reg,
				 int off, int size)
{
	const struct btf_type *t = btf_type_by_id(reg->btf, reg->btf_id);

	if (t == msb_msk_type && off == msb_snd_burst_off && size == sizeof(int))
		return 0;
	if (t == msb_subflow_type && off == msb_avg_pacing_rate_off && size == sizeof(long))
		return 0;
	bpf_log(log,
		"only mptcp_sock.snd_burst and mptcp_subflow_context.avg_pacing_rate may be written, not offset %d size %d\n",
		off, size);
	return -EACCES;
}

static const struct bpf_verifier_ops msb_verifier_ops = {
	.get_func_proto = msb_get_func_proto,
	.is_valid_access = bpf_tracing_btf_ctx_access,
	.btf_struct_access = msb_btf_struct_access,
};

/* Only get_retrans is always called from process context. */
static int msb_check_member(const struct btf_type *t, const struct btf_member *member,
			    const struct bpf_prog *prog)
{
#ifdef MSB_HAVE_GET_SEND
	if (__btf_member_bit_offset(t, member) / 8 == offsetof(struct mptcp_sched_ops, get_retrans))
		return 0;
#endif
	return prog->sleepable ? -EINVAL : 0;
}

/* bpf_obj_name_cpy() is not exported everywhere; these are its rules. */
int msb_copy_name(char *dst, const char *src)
{
	size_t i;

	memset(dst, 0, MPTCP_SCHED_NAME_MAX);
	for (i = 0; i < MPTCP_SCHED_NAME_MAX; i++) {
		if (!src[i])
			return i ? 0 : -EINVAL;
		if (!isalnum(src[i]) && src[i] != '_' && src[i] != '.')
			return -EINVAL;
		dst[i] = src[i];
	}
	return -EINVAL;
}

static int msb_init_member(const struct btf_type *t, const struct btf_member *member, void *kdata,
			   const void *udata)
{
	const struct mptcp_sched_ops *uops = udata;
	struct mptcp_sched_ops *ops = kdata;

	if (__btf_member_bit_offset(t, member) / 8 != offsetof(struct mptcp_sched_ops, name))
		return 0;
	return msb_copy_name(ops->name, uops->name) ?: 1;
}

static int msb_validate(void *kdata)
{
	const struct mptcp_sched_ops *ops = kdata;

#ifdef MSB_HAVE_GET_SEND
	return ops->get_send ? 0 : -EINVAL;
#else
	return ops->get_subflow ? 0 : -EINVAL;
#endif
}

static struct bpf_struct_ops msb_struct_ops = {
	.verifier_ops = &msb_verifier_ops,
	.init = msb_st_init,
	.check_member = msb_check_member,
	.init_member = msb_init_member,
	.reg = msb_reg,
	.unreg = msb_unreg,
	.validate = msb_validate,
	.name = "mptcp_sched_ops",
	.cfi_stubs = &msb_stubs,
	.owner = THIS_MODULE,
};

int msb_register_struct_ops(void)
{
	return msb_registered("struct_ops type mptcp_sched_ops",
			      __register_bpf_struct_ops(&msb_struct_ops));
}
