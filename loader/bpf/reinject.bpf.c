// SPDX-License-Identifier: GPL-2.0
/*
 * Early copies for connections that the kernel's own scheduler serves: `use
 * default --reinject`. At each segment that arrives on an MPTCP subflow, when
 * nothing is left to assign, it looks at the connection's subflows, and asks
 * for a retransmission pass where a copy pays (common/reinject.h), or a short end is
 * held back. What is sent, and where, decides the default's own get_retrans. Their windows
 * restart once per pause, too.
 *
 * It is the ACK clock of the scheduler "default" (kmod/clock.c). A namespace that did
 * not opt in costs each of its segments one look into a hash. Nothing of a
 * connection but the subflow at hand is locked here: what is read may be torn or
 * stale, and memory may be another's by then. Every read is one that cannot fault,
 * the walk ends after eight subflows, and a wrong answer asks once too often, or not.
 */
#include "bpf/kernel.h"
#include "common/reinject.h"
#include <bpf/bpf_tracing.h>

#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_SK_STORAGE 24
#define BPF_F_NO_PREALLOC 1U
#define BPF_SK_STORAGE_GET_F_CREATE 1ULL
#define TCP_ESTABLISHED 1
#define TCP_CLOSE_WAIT 8
#define TCP_CA_Loss 4
/* include/net/tcp.h */
#define TCP_INFINITE_SSTHRESH 0x7fffffff
/* of tcp_sock.nonagle, what TCP_CORK sets */
#define TCP_NAGLE_CORK 2
/* RFC 9293, 3.2, and RFC 8684, 3.3 */
#define TCP_HEADER 20
#define OPTIONS_MAX 40
#define OPTION_END 0
#define OPTION_NOP 1
#define OPTION_MPTCP 30
#define MPTCP_DSS 2
#define DSS_ACK 1
#define DSS_ACK_64 2

char _license[] SEC("license") = "GPL";

extern int bpf_mptcp_request_retrans(struct sock *sk) __weak __ksym;
extern int bpf_mptcp_restart_once(struct sock *ssk) __weak __ksym;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MPS_REINJECT_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct mps_reinject_ns);
} mps_reinject_v1 SEC(".maps");

/* Of a subflow. */
struct memory {
	__u32 una, seq;		   /* snd_una of the connection, and of the subflow then */
	__u32 asked_una, asked_us; /* what was asked for through it last; 0 us: never */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct memory);
} mps_memory SEC(".maps");

static __always_inline void count(struct mps_reinject_ns *ns, enum mps_reinject_counter what)
{
	__sync_fetch_and_add(&ns->counter[what], 1);
}

/* Can nothing be assigned although data is on its way? */
static __always_inline bool nothing_fresh(const struct mptcp_sock *msk)
{
	const __u64 nxt = msk->snd_nxt;

	return msk->snd_una != nxt && (msk->write_seq == nxt || (__s64)(msk->wnd_end - nxt) <= 0);
}

/* The head of the retransmit queue, of which the kernel makes a copy. */
static __always_inline struct mps_fragment oldest(const struct mptcp_sock *msk)
{
	struct mptcp_data_frag *frag = bpf_core_cast(msk->rtx_queue.next, struct mptcp_data_frag);
	const __u64 end = frag->data_seq + frag->already_sent;
	struct mps_fragment f = { .whole = frag->already_sent };

	f.left = (__u32)(end - msk->snd_una);
	/* acknowledged, or no fragment at all: the head of an empty queue is itself */
	if (f.left > f.whole)
		f.whole = 0;
	return f;
}

static __always_inline __u32 flags_of(struct mptcp_subflow_context *subflow, struct sock *ssk,
				      struct tcp_sock *tp)
{
	const __u32 backup = BPF_CORE_READ_BITFIELD(subflow, backup) |
			     BPF_CORE_READ_BITFIELD(subflow, request_bkup);
	/* __mptcp_subflow_active(), net/mptcp/protocol.h */
	const __u32 joining =
		BPF_CORE_READ_BITFIELD(subflow, request_join) & !subflow->fully_established;
	const __u32 sending = (1U << (ssk->__sk_common.skc_state & 31)) &
			      (1U << TCP_ESTABLISHED | 1U << TCP_CLOSE_WAIT);
	const __u32 stale = !!BPF_CORE_READ_BITFIELD(subflow, stale);

	return (!!sending & !joining) * MPS_PATH_SENDS |
	       (!!sending & !joining & !stale) * MPS_PATH_ACTIVE | backup * MPS_PATH_BACKUP |
	       (BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state) == TCP_CA_Loss) *
		       MPS_PATH_LOSS |
	       (tp->write_seq == tp->snd_una) * MPS_PATH_IDLE;
}

static __always_inline void read_path(struct mps_path *p, struct tcp_sock *tp)
{
	const __u32 left_out = tp->sacked_out + tp->lost_out;
	const __u32 out = tp->packets_out + tp->retrans_out;

	p->srtt_us = tp->srtt_us >> 3;
	p->mdev_us = tp->mdev_us >> 2;
	p->cwnd = tp->snd_cwnd ?: 1;
	p->ssthresh = tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH ? ~0U : tp->snd_ssthresh;
	p->inflight = out > left_out ? out - left_out : 0;
	p->unsent = tp->write_seq - tp->snd_nxt;
	p->mss = (__u16)tp->mss_cache ?: 1;
	p->rate = mps_last_rate(tp->rate_delivered, p->mss, tp->rate_interval_us);
	p->min_rtt_us = tp->rtt_min.s[0].v;
}

/* What the segment that is just coming in says of its own subflow. */
struct news {
	struct tcp_sock *tp;
	__u32 ack;     /* which TCP will take notice of in a moment, long before the pass */
	__u32 in_vain; /* mps_until_done() */
	__u32 out;     /* bytes that the connection has on its way */
	__u32 held;    /* subflows that hold a short end back */
	__u32 told;    /* it leaves its subflow idle, and acknowledges no data that was not */
};

/*
 * Is what it still has a short end that waits for the writer to uncork, and not the end of all
 * data? Behind it the rest waits at the receiver; the bridge pushes it before the pass that is
 * asked for.
 */
static __always_inline bool holds_back(struct tcp_sock *tp, const struct mps_path *p,
				       const struct news *news)
{
	__u32 ack = tp->snd_una;

	barrier_var(ack); /* or the compiler chooses between two addresses, of unlike memory */
	if (tp == news->tp)
		ack = news->ack;
	/* what the segment acknowledges here is still among what is on its way */
	return p->unsent && p->unsent < p->mss && ack == tp->snd_nxt &&
	       p->unsent + (ack - tp->snd_una) < news->out &&
	       BPF_CORE_READ_BITFIELD(tp, nonagle) & TCP_NAGLE_CORK;
}

/*
 * Adds the subflow at this address of a list that may change meanwhile; returns
 * the address of the next.
 */
static __noinline __u64 add(struct mps_outlook *o, __u64 at, const struct mps_fragment *f,
			    struct news *news)
{
	struct mptcp_subflow_context *subflow = bpf_core_cast(
		(void *)(at - bpf_core_field_offset(struct mptcp_subflow_context, node)),
		struct mptcp_subflow_context);
	struct sock *ssk = bpf_core_cast(subflow->tcp_sock, struct sock);
	struct tcp_sock *tp = bpf_core_cast(subflow->tcp_sock, struct tcp_sock);
	const __u64 silent = bpf_ktime_get_ns() / 1000 - tp->tcp_mstamp;
	struct mps_path p = { 0 };
	__u32 bytes;

	read_path(&p, tp);
	p.flags = (__u16)flags_of(subflow, ssk, tp);
	if (tp == news->tp && news->ack == tp->write_seq)
		p.flags |= MPS_PATH_IDLE;
	news->held += holds_back(tp, &p, news);
	/* its queue is empty then, and so is the path's for all that it knows */
	if (p.flags & MPS_PATH_IDLE && p.min_rtt_us < p.srtt_us)
		p.srtt_us = p.min_rtt_us ?: 1;
	bytes = mps_until_done(f, &p, tp->write_seq - tp->snd_una,
			       tp == news->tp ? news->in_vain : 0);
	mps_outlook_add(o, &p, f->whole, bytes, tp == news->tp ? 0 : silent);
	return (__u64)subflow->node.next;
}

static __always_inline bool pays(struct mps_reinject_ns *ns, const struct mptcp_sock *msk,
				 struct news *news)
{
	const __u64 head = (__u64)msk + bpf_core_field_offset(struct mptcp_sock, conn_list);
	const struct mps_fragment f = oldest(msk);
	struct mps_outlook o = MPS_OUTLOOK_INIT;
	__u64 at = (__u64)msk->conn_list.next;
	__u32 i;

	for (i = 0; f.whole && i < MPS_MAX_PATHS; i++) {
		if (!at || at == head)
			break;
		at = add(&o, at, &f, news);
	}
	/* nobody but the retransmission timer would end the others */
	if (mps_reinject_pays(&o) || news->held ||
	    (news->told && mps_reinject_dropped(&o, news->in_vain, news->tp->mss_cache)))
		return true;
	count(ns, o.copy_us == MPS_NEVER_US ? MPS_R_NO_IDLE : MPS_R_NO_GAIN);
	return false;
}

/* How much of the subflow was acknowledged without the connection's getting on. */
static __always_inline __u32 in_vain(struct memory *m, __u32 una, __u32 seq)
{
	if (m->una != una) {
		m->una = una;
		m->seq = seq;
	}
	return seq - m->seq;
}

/* Once per value of snd_una, or again after a quarter of an RTT. */
static __always_inline enum mps_reinject_counter ask(struct memory *m, struct sock *sk, __u32 una,
						     __u32 again)
{
	const __u32 now = (__u32)(bpf_ktime_get_ns() / 1000);

	if (m->asked_us && m->asked_una == una && now - m->asked_us < again)
		return MPS_R_HELD_BACK;
	m->asked_una = una;
	m->asked_us = now ?: 1;
	if (bpf_ksym_exists(bpf_mptcp_request_retrans) && !bpf_mptcp_request_retrans(sk))
		return MPS_R_ASKED;
	return MPS_R_REFUSED;
}

/*
 * Does the segment acknowledge, at data level, as much as is known, and no more? By the low half of
 * what its option says (RFC 8684, 3.3), at which the core looks later. The options are in the
 * linear part, as TCP has parsed them by now.
 */
static __always_inline bool tells(const struct sk_buff *skb, __u32 una)
{
	__u8 header[OPTIONS_MAX + 16] = { 0 };
	__u32 i, at = 0, end;

	if (bpf_probe_read_kernel(header, TCP_HEADER, skb->data))
		return false;
	end = (header[12] >> 4) * 4 - TCP_HEADER;
	if (end > OPTIONS_MAX || bpf_probe_read_kernel(header, end, skb->data + TCP_HEADER))
		return false;
	for (i = 0; i < OPTIONS_MAX / 2 && at < end && at < OPTIONS_MAX; i++) {
		const __u8 *o = header + at;

		if (o[0] == OPTION_MPTCP && o[2] >> 4 == MPTCP_DSS && o[3] & DSS_ACK) {
			const __u8 *ack = o + 4 + (o[3] & DSS_ACK_64 ? 4 : 0);

			return una == ((__u32)ack[0] << 24 | ack[1] << 16 | ack[2] << 8 | ack[3]);
		}
		if (o[0] == OPTION_END || (o[0] != OPTION_NOP && o[1] < 2))
			break;
		at += o[0] == OPTION_NOP ? 1 : o[1];
	}
	return false;
}

SEC("struct_ops")
void BPF_PROG(reinject, struct sock *sk, const struct sk_buff *skb)
{
	struct tcp_sock *tp = bpf_core_cast(sk, struct tcp_sock);
	struct mptcp_subflow_context *subflow;
	struct mps_reinject_ns *ns;
	struct mptcp_sock *msk;
	struct memory *m;
	struct news news;
	__u64 cookie;
	__u32 una;

	cookie = sk->__sk_common.skc_net.net->net_cookie;
	ns = bpf_map_lookup_elem(&mps_reinject_v1, &cookie);
	if (!ns || !tp->inet_conn.icsk_ulp_data)
		return;
	subflow = bpf_core_cast(tp->inet_conn.icsk_ulp_data, struct mptcp_subflow_context);
	msk = bpf_core_cast(subflow->conn, struct mptcp_sock);
	/* before there is anything to copy: the bridge pushes short ends of those at their close */
	if (bpf_ksym_exists(bpf_mptcp_restart_once))
		bpf_mptcp_restart_once(sk);
	if (!nothing_fresh(msk))
		return;
	m = bpf_sk_storage_get(&mps_memory, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	/* the TCP header is where the data of the packet begins; its acknowledgement */
	if (!m || bpf_probe_read_kernel(&news.ack, sizeof(news.ack), skb->data + 8))
		return;
	count(ns, MPS_R_LOOKS);
	una = (__u32)msk->snd_una;
	news.tp = tp;
	news.ack = bpf_ntohl(news.ack);
	/* mps_reinject_dropped() asks only when that leaves the subflow idle */
	news.told = news.ack == tp->write_seq && tells(skb, una);
	news.held = 0;
	news.out = (__u32)(msk->snd_nxt - msk->snd_una);
	news.in_vain = in_vain(m, una, tp->snd_una);
	if (pays(ns, msk, &news))
		count(ns, ask(m, sk, una, tp->srtt_us >> 5));
}

/* The kernel's own: a connection has it from its namespace, by that name. */
SEC(".struct_ops.link")
struct mptcp_sched_clock default_clock = {
	.segment = (void *)reinject,
	.name = "default",
};
