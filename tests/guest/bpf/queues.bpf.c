// SPDX-License-Identifier: GPL-2.0
/*
 * Lists the MPTCP subflows of the reader's network namespace: the local queue as
 * a scheduler would see it at this moment, and what was measured of it so far
 * (queues.py).
 */
#include "kernel/compat.h"
#include "kernel/queue.h"
#include "frame/service.h"

char _license[] SEC("license") = "GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sock_common___port {
	__u16 skc_num;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};
#pragma clang attribute pop

/* one record; queues.py reads these */
struct queue_rec {
	__u32 port; /* the local one */
	__u32 queue;
	__u32 service_us, wait_us;
	__u32 samples, seen;
	__u32 srtt_us, unsent;
	__u32 mss, reserved;
};

SEC("iter/tcp")
int queues(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct mps_service *v;
	struct queue_rec rec = { 0 };
	struct tcp_sock *tp;
	struct sock *sk;

	tp = skc ? bpf_skc_to_tcp_sock(skc) : NULL;
	if (!tp || !tp->is_mptcp)
		return 0;
	sk = (struct sock *)tp;
	v = bpf_sk_storage_get(&mps_service_v1, sk, NULL, 0);
	if (!v)
		return 0;
	rec.port = ((struct sock_common___port *)skc)->skc_num;
	rec.queue = mps_socket_queue(sk, tp);
	rec.service_us = v->service_us;
	rec.wait_us = v->wait_us;
	rec.samples = v->samples;
	rec.seen = v->seen;
	rec.srtt_us = tp->srtt_us >> 3;
	rec.unsent = tp->write_seq - tp->snd_nxt;
	rec.mss = tp->mss_cache;
	bpf_seq_write(ctx->meta->seq, &rec, sizeof(rec));
	return 0;
}
