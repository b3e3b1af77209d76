// SPDX-License-Identifier: GPL-2.0
/*
 * Every MPTCP socket that a process has open, with the scheduler it keeps: the
 * listeners that `use` warns about and the connections that `show` counts. No
 * other interface of the kernel tells a socket's scheduler.
 */
#include "bpf/kernel.h"

char _license[] SEC("license") = "GPL";

const volatile __u32 fallback_bit; /* kern_fallback_bit() */

SEC("iter/task_file")
int sockets(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct mps_sock_rec rec = { 0 };
	struct mptcp_sock *msk;
	struct socket *sock;
	struct sock *sk;

	if (!task || !file)
		return 0;
	sock = bpf_sock_from_file(file);
	if (!sock)
		return 0;
	sk = BPF_CORE_READ(sock, sk);
	if (!sk || BPF_CORE_READ(sk, sk_protocol) != IPPROTO_MPTCP)
		return 0;
	msk = (struct mptcp_sock *)sk;

	rec.sk = (__u64)sk;
	rec.netns = sock_netns(sk);
	rec.token = BPF_CORE_READ(msk, token);
	rec.pid = BPF_CORE_READ(task, tgid);
	rec.state = BPF_CORE_READ(sk, __sk_common.skc_state);
	rec.fallback = msk_fallback(msk, fallback_bit);
	rec.ops_map = msk_ops_map(msk);
	msk_sched(msk, rec.sched);
	BPF_CORE_READ_STR_INTO(&rec.comm, task, comm);
	sock_local(sk, &rec.local);
	sock_remote(sk, &rec.remote);
	bpf_seq_write(ctx->meta->seq, &rec, sizeof(rec));
	return 0;
}
