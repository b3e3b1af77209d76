// SPDX-License-Identifier: GPL-2.0
/*
 * The scheduler API of mptcp_net-next as a part of the kernel itself, written
 * for the tests of this project: build.sh puts it into net/mptcp. It has the
 * names, signatures and flags that BPF objects see there, and nothing else of
 * that tree. The bridge must find all this and leave it alone.
 */
#include <linux/bpf.h>
#include <linux/bpf_verifier.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <net/bpf_sk_storage.h>
#include "protocol.h"

/* --- kfuncs: those that net/mptcp has not as functions anyway */

struct bpf_iter_mptcp_subflow {
	__u64 __opaque[2];
} __aligned(8);

struct bpf_iter_mptcp_subflow_kern {
	struct list_head *end; /* NULL: nothing to iterate */
	struct list_head *last;
} __aligned(8);

__bpf_kfunc_start_defs();

__bpf_kfunc int bpf_iter_mptcp_subflow_new(struct bpf_iter_mptcp_subflow *it, struct sock *sk)
{
	struct bpf_iter_mptcp_subflow_kern *kit = (void *)it;

	BUILD_BUG_ON(sizeof(*kit) > sizeof(*it));
	kit->end = NULL;
	if (!sk_fullsock(sk) || sk->sk_protocol != IPPROTO_MPTCP)
		return -EINVAL;
	kit->end = &mptcp_sk(sk)->conn_list;
	kit->last = kit->end;
	return 0;
}

__bpf_kfunc struct mptcp_subflow_context *
bpf_iter_mptcp_subflow_next(struct bpf_iter_mptcp_subflow *it)
{
	struct bpf_iter_mptcp_subflow_kern *kit = (void *)it;

	if (!kit->end || kit->last->next == kit->end)
		return NULL;
	kit->last = kit->last->next;
	return list_entry(kit->last, struct mptcp_subflow_context, node);
}

__bpf_kfunc void bpf_iter_mptcp_subflow_destroy(struct bpf_iter_mptcp_subflow *it)
{
}

__bpf_kfunc struct mptcp_subflow_context *bpf_mptcp_subflow_ctx(const struct sock *sk)
{
	if (!sk || !sk_fullsock(sk) || !sk_is_tcp(sk) || !sk_is_mptcp(sk))
		return NULL;
	return mptcp_subflow_ctx(sk);
}

__bpf_kfunc struct sock *bpf_mptcp_subflow_tcp_sock(const struct mptcp_subflow_context *subflow)
{
	return subflow ? mptcp_subflow_tcp_sock(subflow) : NULL;
}

__bpf_kfunc bool bpf_sk_stream_memory_free(const struct sock *sk)
{
	return sk_fullsock(sk) && sk->sk_prot->stream_memory_free && sk_stream_memory_free(sk);
}

__bpf_kfunc bool bpf_mptcp_subflow_queues_empty(struct sock *sk)
{
	return !sk_fullsock(sk) || !sk_is_tcp(sk) || tcp_rtx_queue_empty(sk);
}

__bpf_kfunc_end_defs();

BTF_KFUNCS_START(bpf_mptcp_sched_kfuncs)
BTF_ID_FLAGS(func, bpf_iter_mptcp_subflow_new, KF_ITER_NEW)
BTF_ID_FLAGS(func, bpf_iter_mptcp_subflow_next, KF_ITER_NEXT | KF_RET_NULL)
BTF_ID_FLAGS(func, bpf_iter_mptcp_subflow_destroy, KF_ITER_DESTROY)
BTF_ID_FLAGS(func, bpf_mptcp_subflow_ctx, KF_RET_NULL)
BTF_ID_FLAGS(func, bpf_mptcp_subflow_tcp_sock, KF_RET_NULL)
BTF_ID_FLAGS(func, bpf_sk_stream_memory_free)
BTF_ID_FLAGS(func, bpf_mptcp_subflow_queues_empty)
BTF_ID_FLAGS(func, mptcp_subflow_set_scheduled)
BTF_ID_FLAGS(func, mptcp_subflow_active)
BTF_ID_FLAGS(func, mptcp_set_timeout)
BTF_ID_FLAGS(func, mptcp_wnd_end)
BTF_ID_FLAGS(func, mptcp_pm_subflow_chk_stale, KF_SLEEPABLE)
BTF_KFUNCS_END(bpf_mptcp_sched_kfuncs)

static const struct btf_kfunc_id_set bpf_mptcp_sched_kfunc_set = {
	.owner = THIS_MODULE,
	.set = &bpf_mptcp_sched_kfuncs,
};

/* --- the struct_ops type */

static const struct btf_type *msk_type, *subflow_type;

static int bpf_mptcp_sched_init(struct btf *btf)
{
	s32 msk = btf_find_by_name_kind(btf, "mptcp_sock", BTF_KIND_STRUCT);
	s32 subflow = btf_find_by_name_kind(btf, "mptcp_subflow_context", BTF_KIND_STRUCT);

	if (msk < 0 || subflow < 0)
		return -ENOENT;
	msk_type = btf_type_by_id(btf, msk);
	subflow_type = btf_type_by_id(btf, subflow);
	return 0;
}

static const struct bpf_func_proto *bpf_mptcp_sched_func_proto(enum bpf_func_id id,
							       const struct bpf_prog *prog)
{
	switch (id) {
	case BPF_FUNC_sk_storage_get:
		return &bpf_sk_storage_get_proto;
	case BPF_FUNC_sk_storage_delete:
		return &bpf_sk_storage_delete_proto;
	case BPF_FUNC_skc_to_tcp_sock:
		return &bpf_skc_to_tcp_sock_proto;
	case BPF_FUNC_skc_to_tcp6_sock:
		return &bpf_skc_to_tcp6_sock_proto;
	default:
		return bpf_base_func_proto(id, prog);
	}
}

static bool within(int off, int size, size_t begin, size_t end)
{
	return off >= begin && off + size <= end;
}

static int bpf_mptcp_sched_write(struct bpf_verifier_log *log, const struct bpf_reg_state *reg,
				 int off, int size)
{
	const struct btf_type *t = btf_type_by_id(reg->btf, reg->btf_id);

	if (t == msk_type && within(off, size, offsetof(struct mptcp_sock, snd_burst),
				    offsetofend(struct mptcp_sock, snd_burst)))
		return 0;
	if (t == subflow_type &&
	    within(off, size, offsetof(struct mptcp_subflow_context, avg_pacing_rate),
		   offsetofend(struct mptcp_subflow_context, avg_pacing_rate)))
		return 0;
	bpf_log(log, "a scheduler may not write at offset %d\n", off);
	return -EACCES;
}

static const struct bpf_verifier_ops bpf_mptcp_sched_verifier_ops = {
	.get_func_proto = bpf_mptcp_sched_func_proto,
	.is_valid_access = bpf_tracing_btf_ctx_access,
	.btf_struct_access = bpf_mptcp_sched_write,
};

static int bpf_mptcp_sched_check_member(const struct btf_type *t, const struct btf_member *member,
					const struct bpf_prog *prog)
{
	return 0;
}

static int bpf_mptcp_sched_init_member(const struct btf_type *t, const struct btf_member *member,
				       void *kdata, const void *udata)
{
	const struct mptcp_sched_ops *from = udata;
	struct mptcp_sched_ops *ops = kdata;

	if (__btf_member_bit_offset(t, member) / 8 != offsetof(struct mptcp_sched_ops, name))
		return 0;
	if (bpf_obj_name_cpy(ops->name, from->name, sizeof(ops->name)) <= 0)
		return -EINVAL;
	return 1;
}

static int bpf_mptcp_sched_validate(void *kdata)
{
	return mptcp_validate_scheduler(kdata);
}

static int bpf_mptcp_sched_reg(void *kdata, struct bpf_link *link)
{
	return mptcp_register_scheduler(kdata);
}

static void bpf_mptcp_sched_unreg(void *kdata, struct bpf_link *link)
{
	mptcp_unregister_scheduler(kdata);
}

static int bpf_mptcp_stub_get_send(struct mptcp_sock *msk)
{
	return -EINVAL;
}

static int bpf_mptcp_stub_get_retrans(struct mptcp_sock *msk)
{
	return -EINVAL;
}

static void bpf_mptcp_stub_init(struct mptcp_sock *msk)
{
}

static void bpf_mptcp_stub_release(struct mptcp_sock *msk)
{
}

static struct mptcp_sched_ops bpf_mptcp_sched_stubs = {
	.get_send = bpf_mptcp_stub_get_send,
	.get_retrans = bpf_mptcp_stub_get_retrans,
	.init = bpf_mptcp_stub_init,
	.release = bpf_mptcp_stub_release,
};

static struct bpf_struct_ops bpf_mptcp_sched_ops = {
	.verifier_ops = &bpf_mptcp_sched_verifier_ops,
	.init = bpf_mptcp_sched_init,
	.check_member = bpf_mptcp_sched_check_member,
	.init_member = bpf_mptcp_sched_init_member,
	.validate = bpf_mptcp_sched_validate,
	.reg = bpf_mptcp_sched_reg,
	.unreg = bpf_mptcp_sched_unreg,
	.name = "mptcp_sched_ops",
	.cfi_stubs = &bpf_mptcp_sched_stubs,
	.owner = THIS_MODULE,
};

static int __init bpf_mptcp_sched_register(void)
{
	return register_btf_kfunc_id_set(BPF_PROG_TYPE_STRUCT_OPS, &bpf_mptcp_sched_kfunc_set)
		       ?: register_bpf_struct_ops(&bpf_mptcp_sched_ops, mptcp_sched_ops);
}
late_initcall(bpf_mptcp_sched_register);
