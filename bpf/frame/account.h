/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Steering's accounts (state/steer_account.h): where bytes are counted.
 *
 *  - at each look at a subflow, so that the decision knows of all that was sent;
 *  - at the ACK clock, for those that receive and are not asked for any decision;
 *  - where TCP closes a subflow, for what was sent and came in since.
 *
 * A subflow that is established while there are tables is counted from its first byte on. What an
 * older one has had before the first look at it is nobody's.
 *
 * What can be lost: the bytes of a subflow that no decision and no clock has seen. Where a table
 * changes, what moved since the last look is still its old row's.
 */
#ifndef MPS_BPF_ACCOUNT_H
#define MPS_BPF_ACCOUNT_H

#include "frame/steering.h"

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct mps_steer_seen);
} mps_seen_v2 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MPS_STEER_SLOTS);
	__type(key, __u32);
	__type(value, struct mps_steer_slot);
} mps_slots_v1 SEC(".maps");

static __always_inline struct mps_steer_slot *mps_account_slot(__u32 slot)
{
	return bpf_map_lookup_elem(&mps_slots_v1, &slot);
}

/* The difference to the last look goes to the row's slot, if it has one. */
MPS_FN __u32 mps_account_count(struct mps_steer_seen *a MPS_ARG, __u64 sent, __u64 received)
{
	const __u64 out = sent - __sync_lock_test_and_set(&a->bytes[MPS_STEER_SENT], sent);
	const __u64 in =
		received - __sync_lock_test_and_set(&a->bytes[MPS_STEER_RECEIVED], received);
	struct mps_steer_slot *s = mps_account_slot(a->slot - 1U);

	if (!s)
		return 0;
	if (out)
		__sync_fetch_and_add(&s->bytes[MPS_STEER_SENT], out);
	if (in)
		__sync_fetch_and_add(&s->bytes[MPS_STEER_RECEIVED], in);
	return 0;
}

/* Which row it has now. False: it has no route yet, and may have another one then. */
static __always_inline bool mps_account_find(struct mps_steer_seen *a,
					     const struct mps_steer_table *t, __u64 context,
					     __u32 backup)
{
	const __u32 row = mps_steer_find_row(t, context, backup);
	const bool found = row - 1 < MPS_STEER_PATHS;

	if (row & MPS_STEER_ROW_UNSURE)
		return false;
	/* each at once: another look at the same time would count for no slot in between */
	a->slot = found ? t->path[(row - 1) & (MPS_STEER_PATHS - 1)].account.slot + 1 : 0;
	a->row = found ? (__u8)row : 0;
	a->backup = (__u8)backup;
	a->generation = t->generation;
	return true;
}

/* Bits of a metric: is the row over its cap? */
static __always_inline __u32 mps_account_over(const struct mps_steer_seen *a,
					      const struct mps_steer_table *t, __u32 queued)
{
	const struct mps_steer_path *row = &t->path[(a->row - 1) & (MPS_STEER_PATHS - 1)];
	const struct mps_steer_slot *s = mps_account_slot(row->account.slot);

	if (!a->row || !s || !mps_account_is_over(&row->account, s, queued))
		return 0;
	return MPS_STEER_OVER_CAP | (row->flags & MPS_STEER_BLOCK ? MPS_STEER_BLOCKED : 0);
}

/* In all the time of the subflow: segments that were sent again, and had to be. */
static __always_inline __u32 mps_account_lost(const struct tcp_sock *tp)
{
	return tp->total_retrans - tp->dsack_dups;
}

/*
 * The same: of its loss threshold. For decisions only, which never overtake each other. What was
 * lost while there was no threshold is no matter of a later one.
 */
static __always_inline __u32 mps_account_lossy(struct mps_steer_seen *a,
					       const struct mps_steer_table *t,
					       const struct tcp_sock *tp)
{
	const struct mps_steer_path *row = &t->path[(a->row - 1) & (MPS_STEER_PATHS - 1)];
	bool lossy = false;

	if (a->row && row->loss) {
		mps_loss_look(&a->loss, mps_account_lost(tp), tp->data_segs_out,
			      (__u32)(bpf_ktime_get_ns() / 1000));
		lossy = mps_loss_is_over(&a->loss, row->loss, a->lossy);
	} else {
		mps_loss_begin(&a->loss, mps_account_lost(tp), tp->data_segs_out);
	}
	a->lossy = lossy;
	return lossy * MPS_STEER_OVER_LOSS;
}

/* A look at a subflow. */
enum mps_account_look {
	/* it was established before there was any table; what it has had until now is nobody's */
	MPS_ACCOUNT_OLDER = 1 << 0,
	MPS_ACCOUNT_DECIDES = 1 << 1, /* a decision's */
};

/* context: address of its struct mptcp_subflow_context; how: enum mps_account_look. */
MPS_FN __u32 mps_account_see(struct mps_steer_seen *a MPS_ARG, __u64 context, __u32 how)
{
	const struct mps_steer_table *t = mps_steer_table();
	const struct mptcp_subflow_context *subflow =
		bpf_core_cast((void *)context, struct mptcp_subflow_context);
	const struct mptcp_subflow_context___ends *ends =
		bpf_core_cast((void *)context, struct mptcp_subflow_context___ends);
	const struct tcp_sock *tp = bpf_core_cast(ends->tcp_sock, struct tcp_sock);
	const __u32 backup = BPF_CORE_READ_BITFIELD(subflow, backup) |
			     BPF_CORE_READ_BITFIELD(subflow, request_bkup);
	__s32 queued; /* without the subflow's lock: what is sent meanwhile may be more */
	__u32 over;

	if (!t)
		return 0;
	if (a->generation != t->generation || a->backup != backup) {
		if (a->generation || how & MPS_ACCOUNT_OLDER)
			mps_account_count(a, tp->bytes_sent, tp->bytes_received);
		if (how & MPS_ACCOUNT_OLDER)
			mps_loss_begin(&a->loss, mps_account_lost(tp), tp->data_segs_out);
		if (!mps_account_find(a, t, context, backup))
			return 0;
	}
	mps_account_count(a, tp->bytes_sent, tp->bytes_received);
	queued = (__s32)(tp->write_seq - tp->snd_nxt);
	over = mps_account_over(a, t, queued > 0 ? (__u32)queued : 0);
	return how & MPS_ACCOUNT_DECIDES ? over | mps_account_lossy(a, t, tp) : over;
}

/* Without tables nothing is kept. */
static __always_inline __u32 mps_account_at(struct sock *ssk, const struct tcp_sock *tp, __u32 how)
{
	struct mps_steer_seen *a;
	__u64 context = 0;

	if (!mps_steer_table())
		return 0;
	a = bpf_sk_storage_get(&mps_seen_v2, ssk, NULL, 0);
	how |= !a * MPS_ACCOUNT_OLDER;
	if (!a && (how & MPS_ACCOUNT_DECIDES || mps_tracepoints_allocate()))
		a = bpf_sk_storage_get(&mps_seen_v2, ssk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	bpf_core_read(&context, sizeof(context), &tp->inet_conn.icsk_ulp_data);
	if (!a || !context)
		return 0;
	return mps_account_see(a, context, how);
}

/* A policy's .metric. */
static __always_inline __u32 mps_account_look(struct sock *ssk, const struct tcp_sock *tp)
{
	return mps_account_at(ssk, tp, MPS_ACCOUNT_DECIDES);
}

#define MPS_CHOICE_SEGMENT(ssk) mps_account_at(ssk, bpf_core_cast(ssk, struct tcp_sock), 0)

/*
 * TCP's totals are final when it closes, and 0 where a socket begins its next connection. Sockets
 * of others have nothing stored, but MPTCP's subflows, whose scheduler is not looked for.
 */
static __always_inline int mps_account_state(struct sock *sk, int state)
{
	const struct tcp_sock *tp = bpf_core_cast(sk, struct tcp_sock);
	struct mps_steer_seen *a;
	__u64 begins = 0;

	if (state != TCP_CLOSE && state != TCP_SYN_SENT && state != TCP_ESTABLISHED)
		return 0;
	if (state == TCP_ESTABLISHED && sk->sk_protocol == IPPROTO_TCP && tp->is_mptcp &&
	    mps_tracepoints_allocate() && mps_steer_table())
		begins = BPF_SK_STORAGE_GET_F_CREATE;
	a = bpf_sk_storage_get(&mps_seen_v2, sk, NULL, begins);
	if (!a)
		return 0;
	if (state == TCP_CLOSE)
		mps_account_count(a, tp->bytes_sent, tp->bytes_received);
	else if (state == TCP_SYN_SENT)
		__builtin_memset(a, 0, sizeof(*a));
	return 0;
}

/* MPS_ACCOUNTS(name): the program of a scheduler that keeps accounts, beside its clock. */
#define MPS_ACCOUNTS(id)                                                               \
	SEC("tp_btf/inet_sock_set_state")                                              \
	int BPF_PROG(id##_ends, struct sock *sk, const int old_state, const int state) \
	{                                                                              \
		return mps_account_state(sk, state);                                   \
	}

#endif /* MPS_BPF_ACCOUNT_H */
