// SPDX-License-Identifier: GPL-2.0
/*
 * Readers of the socket storage that the schedulers keep (bpf/frame/scheduler.h), each
 * attached to one map. What TCP knows is read here, at reading time, so that
 * it costs nothing per packet.
 */
#include "bpf/kernel.h"
#include "bpf/carries.h"

char _license[] SEC("license") = "GPL";

const volatile __u32 fallback_bit; /* kern_fallback_bit() */

SEC("iter/bpf_sk_storage_map")
int connections(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct mps_conn_store *store = ctx->value;
	struct sock *sk = ctx->sk;
	struct mptcp_sock *msk = (struct mptcp_sock *)sk;
	struct mps_conn_rec rec = { 0 };
	__u64 nxt;

	if (!sk || !store)
		return 0;
	nxt = BPF_CORE_READ(msk, snd_nxt);
	rec.sk = (__u64)sk;
	rec.netns = sock_netns(sk);
	rec.token = BPF_CORE_READ(msk, token);
	rec.state = BPF_CORE_READ(sk, __sk_common.skc_state);
	rec.fallback = msk_fallback(msk, fallback_bit);
	rec.inflight = nxt - BPF_CORE_READ(msk, snd_una);
	rec.pending = BPF_CORE_READ(msk, write_seq) - nxt;
	rec.begun = mps_is_of(store, rec.token);
	if (rec.begun) {
		rec.notes = store->priv.notes;
		rec.steer = *mps_steer_state(&store->priv);
		rec.key = mps_greatest_key(&store->snap);
		__builtin_memcpy(rec.counter, store->counter, sizeof(rec.counter));
	}
	msk_sched(msk, rec.sched);
	sock_local(sk, &rec.local);
	sock_remote(sk, &rec.remote);
	bpf_seq_write(ctx->meta->seq, &rec, sizeof(rec));
	return 0;
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

	rec->srtt_us = BPF_CORE_READ(tp, srtt_us) >> 3;
	rec->cwnd = BPF_CORE_READ(tp, snd_cwnd);
	rec->inflight = out > left ? out - left : 0;
	rec->mss = BPF_CORE_READ(tp, mss_cache);
	rec->unsent = BPF_CORE_READ(tp, write_seq) - BPF_CORE_READ(tp, snd_nxt);
	rec->bytes_acked = BPF_CORE_READ(tp, bytes_acked);
	rec->bytes_sent = BPF_CORE_READ(tp, bytes_sent);
}

SEC("iter/bpf_sk_storage_map")
int subflows(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct mps_subflow_store *store = ctx->value;
	struct mptcp_subflow_context *subflow;
	struct sock *sk = ctx->sk;
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct mps_subflow_rec rec = { 0 };
	struct mptcp_sock *msk;

	if (!sk || !store)
		return 0;
	subflow = BPF_CORE_READ(tp, inet_conn.icsk_ulp_data);
	/* a subflow on its way out may have lost its context */
	if (!subflow || BPF_CORE_READ(subflow, tcp_sock) != sk)
		return 0;
	msk = (struct mptcp_sock *)BPF_CORE_READ(subflow, conn);
	rec.conn = (__u64)msk;
	__builtin_memcpy(&rec.store, store, sizeof(rec.store));
	read_progress(&rec, subflow);
	read_tcp(&rec, tp);
	rec.state = BPF_CORE_READ(sk, __sk_common.skc_state);
	rec.queued = (__u32)BPF_CORE_READ(sk, sk_wmem_queued);
	rec.backup = BPF_CORE_READ_BITFIELD_PROBED(subflow, backup) ||
		     BPF_CORE_READ_BITFIELD_PROBED(subflow, request_bkup);
	rec.stale = !!BPF_CORE_READ_BITFIELD_PROBED(subflow, stale);
	rec.id = BPF_CORE_READ(subflow, subflow_id);
	rec.remote_id = BPF_CORE_READ(subflow, remote_id);
	sock_local(sk, &rec.local);
	sock_remote(sk, &rec.remote);
	barrier();
	rec.token = BPF_CORE_READ(msk, token);
	bpf_seq_write(ctx->meta->seq, &rec, sizeof(rec));
	return 0;
}
