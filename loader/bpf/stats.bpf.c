// SPDX-License-Identifier: GPL-2.0
/*
 * Readers of the socket storage that the schedulers keep (bpf/frame/scheduler.h), a page of records
 * of one map with each call. What TCP knows is read here, at reading time, so that
 * it costs nothing per packet.
 */
#include "bpf/walk.h"
#include "bpf/carries.h"

char _license[] SEC("license") = "GPL";

const volatile __u32 fallback_bit; /* kern_fallback_bit() */

static volatile struct mps_conn_store conn_store; /* too large for the stack */
struct mps_conn_rec conn_page[MPS_WALK_PAGE];
struct mps_subflow_rec subflow_page[MPS_WALK_PAGE];

__noinline int see_connection(__u64 at, __u64 data, __u32 nr)
{
	struct sock *sk = (struct sock *)at;
	struct mps_conn_rec *rec = &conn_page[nr & (MPS_WALK_PAGE - 1)];
	struct mps_conn_store *store = (struct mps_conn_store *)&conn_store;
	struct mptcp_sock *msk = (struct mptcp_sock *)sk;
	/* the lesser first: they grow meanwhile */
	const __u64 una = BPF_CORE_READ(msk, snd_una);
	const __u64 nxt = BPF_CORE_READ(msk, snd_nxt);
	const __u64 end = BPF_CORE_READ(msk, write_seq);

	if (bpf_probe_read_kernel(store, sizeof(*store), (void *)data))
		return 0;
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->sk = (__u64)sk;
	rec->netns = sock_netns(sk);
	rec->token = BPF_CORE_READ(msk, token);
	rec->state = BPF_CORE_READ(sk, __sk_common.skc_state);
	rec->fallback = msk_fallback(msk, fallback_bit);
	rec->inflight = nxt - una;
	rec->pending = end - nxt;
	rec->begun = mps_is_of(store, rec->token);
	if (rec->begun) {
		rec->notes = store->priv.notes;
		rec->steer = *mps_steer_state(&store->priv);
		rec->key = mps_greatest_key(&store->snap);
		__builtin_memcpy(rec->counter, store->counter, sizeof(rec->counter));
	}
	msk_sched(msk, rec->sched);
	sock_local(sk, &rec->local);
	sock_remote(sk, &rec->remote);
	return 1;
}

SEC("syscall")
int connections(void *ctx)
{
	return walk_on(see_connection);
}

/*
 * Bytes since the last round are not counted yet: what it takes to say whose they
 * are. In the order that mps_settle() wants; nothing is locked here.
 */
static __always_inline void read_progress(struct mps_subflow_rec *rec,
					  struct mptcp_subflow_context *subflow)
{
	struct mptcp_sock *msk = (struct mptcp_sock *)BPF_CORE_READ(subflow, conn);
	struct mptcp_data_frag *next;

	rec->seq = (__u32)BPF_CORE_READ(subflow, rel_write_seq);
	barrier();
	next = BPF_CORE_READ(msk, first_pending);
	rec->sent = (__u32)BPF_CORE_READ(msk, snd_nxt);
	rec->head = rec->sent;
	if (next)
		rec->head =
			(__u32)BPF_CORE_READ(next, data_seq) + BPF_CORE_READ(next, already_sent);
}

static __always_inline void read_tcp(struct mps_subflow_rec *rec, struct tcp_sock *tp)
{
	const __u32 out = BPF_CORE_READ(tp, packets_out) + BPF_CORE_READ(tp, retrans_out);
	const __u32 left = BPF_CORE_READ(tp, sacked_out) + BPF_CORE_READ(tp, lost_out);
	const __u32 nxt = BPF_CORE_READ(tp, snd_nxt);

	rec->srtt_us = BPF_CORE_READ(tp, srtt_us) >> 3;
	rec->cwnd = BPF_CORE_READ(tp, snd_cwnd);
	rec->inflight = out > left ? out - left : 0;
	rec->mss = BPF_CORE_READ(tp, mss_cache);
	rec->unsent = BPF_CORE_READ(tp, write_seq) - nxt;
	rec->bytes_acked = BPF_CORE_READ(tp, bytes_acked);
	rec->bytes_sent = BPF_CORE_READ(tp, bytes_sent);
}

__noinline int see_subflow(__u64 at, __u64 data, __u32 nr)
{
	struct sock *sk = (struct sock *)at;
	struct mps_subflow_rec *rec = &subflow_page[nr & (MPS_WALK_PAGE - 1)];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct mptcp_subflow_context *subflow = BPF_CORE_READ(tp, inet_conn.icsk_ulp_data);
	struct mptcp_sock *msk;

	/* a subflow on its way out may have lost its context */
	if (!subflow || BPF_CORE_READ(subflow, tcp_sock) != sk)
		return 0;
	if (bpf_probe_read_kernel(&rec->store, sizeof(rec->store), (void *)data))
		return 0;
	msk = (struct mptcp_sock *)BPF_CORE_READ(subflow, conn);
	rec->conn = (__u64)msk;
	read_progress(rec, subflow);
	read_tcp(rec, tp);
	rec->state = BPF_CORE_READ(sk, __sk_common.skc_state);
	rec->queued = (__u32)BPF_CORE_READ(sk, sk_wmem_queued);
	rec->backup = BPF_CORE_READ_BITFIELD_PROBED(subflow, backup) ||
		      BPF_CORE_READ_BITFIELD_PROBED(subflow, request_bkup);
	rec->stale = !!BPF_CORE_READ_BITFIELD_PROBED(subflow, stale);
	rec->id = BPF_CORE_READ(subflow, subflow_id);
	rec->remote_id = BPF_CORE_READ(subflow, remote_id);
	__builtin_memset(&rec->local, 0, sizeof(rec->local));
	__builtin_memset(&rec->remote, 0, sizeof(rec->remote));
	sock_local(sk, &rec->local);
	sock_remote(sk, &rec->remote);
	barrier();
	rec->token = BPF_CORE_READ(msk, token);
	return 1;
}

SEC("syscall")
int subflows(void *ctx)
{
	return walk_on(see_subflow);
}
