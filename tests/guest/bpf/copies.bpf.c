// SPDX-License-Identifier: GPL-2.0
/*
 * A scheduler with programs of other kinds in its object, as one with an ACK
 * clock is: one that asks for copies at every segment, and two that count
 * (test_copies_loader.py). Built in several ways:
 *
 *  -DXDP          a further program, of a kind that takes more than attaching
 *  -DNO_SEND      the kernel refuses to register it: a hook is missing
 *  -DUNTAGGED     a tunable whose range cannot be read
 */
#include "kernel/compat.h"
#include "kernel/kfuncs.h"
#include "frame/tunables.h"

char _license[] SEC("license") = "GPL";

#define BPF_MAP_TYPE_ARRAY 2

enum { TICKS, ENTRIES, RAW, STEP, NR_COUNTS };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} t_counts SEC(".maps");

/* More than fit into any fixed table, read by a tracing program only. */
#define NUMBER(n) MPS_TUNABLE(step_##n, n, 0, 100000, 1, "number " #n " of many")
NUMBER(1);
NUMBER(2);
NUMBER(3);
NUMBER(4);
NUMBER(5);
NUMBER(6);
NUMBER(7);
NUMBER(8);
NUMBER(9);
NUMBER(10);
NUMBER(11);
NUMBER(12);
NUMBER(13);
NUMBER(14);
NUMBER(15);
NUMBER(16);
NUMBER(17);
NUMBER(18);
NUMBER(19);
NUMBER(20);
#ifdef UNTAGGED
const volatile __u32 untagged __attribute__((btf_decl_tag("mps:tunable:1:text"))) = 1;
#else
const volatile __u32 untagged = 1;
#endif

static __always_inline void count(__u32 what, __u64 n)
{
	__u64 *value = bpf_map_lookup_elem(&t_counts, &what);

	if (value)
		__sync_fetch_and_add(value, n);
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(t_copies_ticks, struct sock *sk)
{
	count(TICKS, untagged);
	count(STEP, step_1 + step_2 + step_3 + step_4 + step_5 + step_6 + step_7 + step_8 + step_9 +
			    step_10 + step_11 + step_12 + step_13 + step_14 + step_15 + step_16 +
			    step_17 + step_18 + step_19 + step_20);
	if (bpf_ksym_exists(bpf_mptcp_request_retrans))
		bpf_mptcp_request_retrans(sk);
	return 0;
}

SEC("fentry/tcp_rcv_established")
int BPF_PROG(t_copies_entry, struct sock *sk)
{
	count(ENTRIES, 1);
	return 0;
}

SEC("raw_tp/sys_enter")
int t_copies_raw(void *ctx)
{
	count(RAW, 1);
	return 0;
}

/* never loaded, so its attach point need not exist */
SEC("?fentry/t_copies_nothing")
int BPF_PROG(t_copies_nothing)
{
	return 0;
}

#ifdef XDP
SEC("xdp")
int t_copies_xdp(void *ctx)
{
	return 2;
}
#endif

#ifdef NO_SEND
SEC(".struct_ops.link")
struct mptcp_sched_ops t_copies = {
	.name = "t_copies",
};
#else
static __always_inline int t_copies_send(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *subflow;
	int ret = -EAGAIN;

	mptcp_set_timeout((struct sock *)msk);
	bpf_for_each(mptcp_subflow, subflow, (struct sock *)msk) {
		if (!mptcp_subflow_active(subflow))
			continue;
		mptcp_subflow_set_scheduled(subflow, true);
		ret = 0;
		break;
	}
	return ret;
}

static __always_inline int t_copies_retrans(struct mptcp_sock *msk)
{
	return -EAGAIN;
}

MPS_OPS(t_copies, "t_copies", "asks for copies all the time", t_copies_send, t_copies_retrans);
#endif
