// SPDX-License-Identifier: GPL-2.0
/*
 * Looks at the decisions of schedulers while `mptcp-sched trace` runs: before and after each of
 * their functions <policy>_decide() and <policy>_copies() (bpf/frame/scheduler.h), and after each
 * mps_glance() (bpf/frame/glance.h) and mps_penalise_carriers() (bpf/frame/mark.h).
 * loader/trace/observer.c attaches one program per function; the cookie tells which one that is.
 *
 * The snapshot lies in the socket storage of its connection, and that leads to the socket. So the
 * filter knows namespace and ports of a connection from its first decision on.
 */
#include "bpf/kernel.h"
#include "bpf/trace.h"
#include "common/glance.h"

#define BPF_ANY 0
#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_LRU_HASH 9
#define BPF_MAP_TYPE_RINGBUF 27

char _license[] SEC("license") = "GPL";

const volatile __u32 only_token, only_netns, only_port; /* 0: any */
const volatile __u32 only_top;				/* 1: those of the map top */
const volatile __u32 one_in = 1;			/* of so many decisions, by chance */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* linux/bpf_local_storage.h */
struct bpf_local_storage_data {
	__u8 data[1];
};

struct bpf_local_storage {
	void *owner;
};

struct bpf_local_storage_elem {
	struct bpf_local_storage *local_storage;
	struct bpf_local_storage_data sdata;
};

#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} ring SEC(".maps");

/* Between the two looks at a decision; by the address of its snapshot. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct mps_priv);
} before SEC(".maps");

/* When a connection was last decided on, by its token. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, __u64);
} last SEC(".maps");

/* The busiest connections, by token; loader/cmd/trace_top.c keeps it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MPS_TRACE_TOP);
	__type(key, __u32);
	__type(value, __u8);
} top SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mps_trace_counts);
} counts SEC(".maps");

/* A decision that passed the filter. */
struct decision {
	__u64 snap; /* where it lies */
	struct sock *sk;
	__u32 token;
};

/* NULL: what lies there is not that connection's. */
static __always_inline struct sock *socket_of(__u64 snap, __u32 token)
{
	const unsigned long at = __builtin_offsetof(struct mps_conn_store, snap) +
				 bpf_core_field_offset(struct bpf_local_storage_elem, sdata) +
				 bpf_core_field_offset(struct bpf_local_storage_data, data);
	struct bpf_local_storage_elem *elem = (void *)(snap - at);
	struct mptcp_sock *msk = BPF_CORE_READ(elem, local_storage, owner);

	return msk && BPF_CORE_READ(msk, token) == token ? (struct sock *)msk : NULL;
}

static __always_inline bool has_port(struct sock *sk, __u32 port)
{
	return BPF_CORE_READ(sk, __sk_common.skc_num) == port ||
	       bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport)) == port;
}

static __always_inline bool is_wanted(struct sock *sk, __u32 token)
{
	if (only_token && token != only_token)
		return false;
	if (only_top && !bpf_map_lookup_elem(&top, &token))
		return false;
	if (only_netns && (!sk || sock_netns(sk) != only_netns))
		return false;
	return !only_port || (sk && has_port(sk, only_port));
}

/* What the function was called about, by its first argument. False: the filter leaves it out. */
static __always_inline bool read_decision(void *ctx, struct decision *d)
{
	const struct mps_conn *conn;

	if (bpf_get_func_arg(ctx, 0, &d->snap))
		return false;
	conn = (const struct mps_conn *)d->snap;
	if (bpf_probe_read_kernel(&d->token, sizeof(d->token), &conn->token))
		return false;
	d->sk = socket_of(d->snap, d->token);
	return is_wanted(d->sk, d->token);
}

static __always_inline __u64 since_last(__u32 token, __u64 now)
{
	const __u64 *when = bpf_map_lookup_elem(&last, &token);
	const __u64 since = when ? now - *when : MPS_TRACE_FIRST;

	bpf_map_update_elem(&last, &token, &now, BPF_ANY);
	return since;
}

static __always_inline void count(bool dropped)
{
	struct mps_trace_counts *c;
	__u32 zero = 0;

	c = bpf_map_lookup_elem(&counts, &zero);
	if (!c)
		return;
	if (dropped)
		__sync_fetch_and_add(&c->dropped, 1);
	else
		__sync_fetch_and_add(&c->seen, 1);
}

static __always_inline bool is_left_out(void)
{
	return one_in > 1 && bpf_get_prandom_u32() % one_in;
}

static __always_inline void fill(void *ctx, struct mps_trace_head *h, const struct decision *d,
				 __u64 now, __u64 since)
{
	__builtin_memset(h, 0, sizeof(*h));
	h->when_ns = now;
	h->since_ns = since;
	bpf_get_func_ret(ctx, &h->answer);
	h->target = (__u32)bpf_get_attach_cookie(ctx);
	h->token = d->token;
	if (!d->sk)
		return;
	h->netns = sock_netns(d->sk);
	sock_local(d->sk, &h->local);
	sock_remote(d->sk, &h->remote);
}

/* How `priv` was is gone behind it. */
SEC("fentry")
int mps_trace_begin(void *ctx)
{
	struct mps_priv state;
	struct decision d;
	__u64 priv;

	if (!read_decision(ctx, &d) || bpf_get_func_arg(ctx, 1, &priv) ||
	    bpf_probe_read_kernel(&state, sizeof(state), (void *)priv))
		return 0;
	bpf_map_update_elem(&before, &d.snap, &state, BPF_ANY);
	return 0;
}

static __always_inline void tell(void *ctx, const struct decision *d, __u64 now, __u64 since)
{
	struct mps_trace_rec *rec = bpf_ringbuf_reserve(&ring, sizeof(*rec), 0);
	const struct mps_priv *state;

	if (!rec) {
		count(true);
		return;
	}
	fill(ctx, &rec->head, d, now, since);
	bpf_probe_read_kernel(&rec->conn, sizeof(rec->conn), (void *)d->snap);
	state = bpf_map_lookup_elem(&before, &d->snap);
	rec->head.has_state = !!state;
	if (state)
		rec->priv = *state;
	else
		__builtin_memset(&rec->priv, 0, sizeof(rec->priv));
	bpf_ringbuf_submit(rec, 0);
}

SEC("fexit")
int mps_trace_end(void *ctx)
{
	const __u64 now = bpf_ktime_get_ns();
	struct decision d;
	__u64 since;

	if (!read_decision(ctx, &d))
		return 0;
	count(false);
	since = since_last(d.token, now);
	if (!is_left_out())
		tell(ctx, &d, now, since);
	bpf_map_delete_elem(&before, &d.snap);
	return 0;
}

/* The same where the connection itself is the first argument. */
static __always_inline bool read_connection(void *ctx, struct decision *d)
{
	struct mptcp_sock *msk;
	__u64 at;

	if (bpf_get_func_arg(ctx, 0, &at))
		return false;
	msk = (struct mptcp_sock *)at;
	d->sk = (struct sock *)at;
	d->token = BPF_CORE_READ(msk, token);
	return is_wanted(d->sk, d->token);
}

/* No more than a glance may be needed to see that there is no room. */
SEC("fexit")
int mps_trace_look(void *ctx)
{
	const __u64 now = bpf_ktime_get_ns();
	struct decision d = { 0 };
	struct mps_trace_head *rec;
	__u64 answer = 0, since;

	if (bpf_get_func_ret(ctx, &answer) || !(answer & MPS_GLANCE_WAIT) ||
	    !read_connection(ctx, &d))
		return 0;
	count(false);
	since = since_last(d.token, now);
	if (is_left_out())
		return 0;
	rec = bpf_ringbuf_reserve(&ring, sizeof(*rec), 0);
	if (!rec) {
		count(true);
		return 0;
	}
	fill(ctx, rec, &d, now, since);
	bpf_ringbuf_submit(rec, 0);
	return 0;
}

/* No decision, and rare: what it says is told in any case, and counts only if it is lost. */
SEC("fexit")
int mps_trace_penalty(void *ctx)
{
	const __u64 now = bpf_ktime_get_ns();
	struct decision d = { 0 };
	struct mps_trace_head *rec;
	__u64 answer = 0;

	if (bpf_get_func_ret(ctx, &answer) || !answer || !read_connection(ctx, &d))
		return 0;
	rec = bpf_ringbuf_reserve(&ring, sizeof(*rec), 0);
	if (!rec) {
		count(false);
		count(true);
		return 0;
	}
	fill(ctx, rec, &d, now, MPS_TRACE_FIRST);
	bpf_ringbuf_submit(rec, 0);
	return 0;
}
