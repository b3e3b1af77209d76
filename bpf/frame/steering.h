/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Steering's tables as a scheduler reads them (state/steer.h): which rule a connection has, found
 * at its first decision and again when the tables are others, and which row a subflow.
 */
#ifndef MPS_BPF_STEERING_H
#define MPS_BPF_STEERING_H

#include "frame/snapshot.h"
#include "kernel/ends.h"
#include "kernel/writer.h"
#include "policy/match.h"
#include "policy/steer.h"
#include "state/steer_option.h"

#define MPS_CHOICE_BYTES MPS_STEER_POLICY_BYTES
#define BPF_F_CLONE (1U << 9)

enum { BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_ARRAY_OF_MAPS = 12 };

struct mps_steer_tables {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	/* of a type that only an inner map names clang gives no size */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct mps_steer_table));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct mps_steer_tables);
} mps_steer_v3 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct mps_steer_wish);
} mps_wish_v1 SEC(".maps");

/* By the socket's option: enum mps_steer_mode from 1 on; 0: the rules say which. */
static __always_inline __u32 mps_steer_wish(struct mptcp_sock *msk)
{
	const struct mps_steer_wish *wish =
		bpf_sk_storage_get(&mps_wish_v1, (struct sock *)msk, NULL, 0);

	return wish && wish->mode <= MPS_NR_STEER_MODES ? wish->mode : 0;
}

/* NULL: user space has written none. It stays as it is until this program ends. */
static __always_inline struct mps_steer_table *mps_steer_table(void)
{
	__u32 zero = 0;
	void *inner = bpf_map_lookup_elem(&mps_steer_v3, &zero);

	return inner ? bpf_map_lookup_elem(inner, &zero) : NULL;
}

/* The rule that it matches, from 1 on; 0: none. */
MPS_FN __u32 mps_steer_find_rule(const struct mps_steer_table *t MPS_ARG,
				 const struct mps_steer_key *k MPS_ARG)
{
	__u32 i, found = 0;

	bpf_for(i, 0, MPS_STEER_RULES)
	{
		if (i >= t->nr_rules)
			break;
		if (mps_match_rule(&t->rule[i & (MPS_STEER_RULES - 1)], k)) {
			found = i + 1;
			break;
		}
	}
	return found;
}

/* The subflow's row, as mps_match_keep() takes it: MPS_STEER_ROW_NONE where none is. */
MPS_FN __u32 mps_steer_find_row(const struct mps_steer_table *t MPS_ARG, __u64 context,
				__u32 backup)
{
	struct mps_steer_subflow s = {};
	__u32 i, found = MPS_STEER_ROW_NONE;
	const __u32 routed = mps_read_subflow(&s, context);

	s.backup = backup;
	if (!t->nr_paths)
		return found;
	bpf_for(i, 0, MPS_STEER_PATHS)
	{
		if (i >= t->nr_paths)
			break;
		if (mps_match_path(&t->path[i & (MPS_STEER_PATHS - 1)], &s)) {
			found = i + 1;
			break;
		}
	}
	/* its device will be known later */
	return routed ? found : found | MPS_STEER_ROW_UNSURE;
}

/*
 * The same, looked up where it is not kept. After a change of the tables get_retrans may be asked
 * before get_send, which is where the connection takes over the new ones.
 */
static __always_inline __u32 mps_steer_row(const struct mps_steer_table *t,
					   struct mps_subflow_store *s, __u64 context, __u32 backup,
					   __u32 generation)
{
	const bool current = t->generation == generation;
	__u32 found;

	if (mps_match_is_kept(s, backup, current))
		return s->row & ~MPS_STEER_ROW_OUT;
	if (!context)
		return MPS_STEER_ROW_UNSURE;
	found = mps_steer_find_row(t, context, backup);
	mps_match_keep(s, found, backup, current);
	return found & ~MPS_STEER_ROW_UNSURE;
}

/* For so long nothing was sent that its RTT may be another one. */
static __always_inline bool mps_steer_is_retried(__u64 context)
{
	const struct mptcp_subflow_context___ends *subflow =
		bpf_core_cast((void *)context, struct mptcp_subflow_context___ends);
	const struct tcp_sock *tp = bpf_core_cast(subflow->tcp_sock, struct tcp_sock);

	return mps_match_is_retried(mps_idle_for(tp, (__u32)bpf_jiffies64()),
				    tp->inet_conn.icsk_rto);
}

/* What is seen of a path beside its row. */
enum mps_steer_sight {
	MPS_STEER_SEES_COPY = 1 << 0, /* for a copy: struct mps_steer_options */
	MPS_STEER_SEES_LOSS = 1 << 1, /* it is over its loss threshold */
};

/*
 * Completes a path of the snapshot: its metric. One that is tried again is within its thresholds,
 * and of unknown RTT, so that it gets a fragment. p->metric is TCP's own RTT: that of the snapshot
 * becomes the smallest of late with the first RTO of idle time (mps_idle_rtt()), which is right for
 * a queue of one's own and no reason to come back. context: address of its struct
 * mptcp_subflow_context, or 0, and the answer is 1 where it takes that one; generation: of the
 * tables that the connection's rule is of; sight: enum mps_steer_sight.
 */
MPS_FN __u32 mps_steer_see(struct mps_subflow_store *s MPS_ARG, struct mps_path *p MPS_ARG,
			   __u64 context, __u32 generation, __u32 sight)
{
	const struct mps_steer_table *t = mps_steer_table();
	const bool backup = mps_is_backup(p);
	const __u32 srtt_us = p->metric;
	const struct mps_steer_path *row;
	__u32 at, slow, lossy = !!(sight & MPS_STEER_SEES_LOSS);
	bool kept, out;

	p->metric = mps_steer_metric(mps_match_rank(NULL, backup), 0, 0);
	if (!t)
		return 0;
	at = mps_steer_row(t, s, context, backup, generation);
	if (at - 1 >= MPS_STEER_PATHS)
		return at == MPS_STEER_ROW_UNSURE;
	row = &t->path[(at - 1) & (MPS_STEER_PATHS - 1)];
	kept = (s->row & ~MPS_STEER_ROW_OUT) == at;
	out = kept && s->row & MPS_STEER_ROW_OUT;
	slow = mps_match_over_rtt(row, out ? srtt_us : p->srtt_us, out);
	if (kept)
		s->row = (__u8)(at | slow * MPS_STEER_ROW_OUT);
	if ((slow | lossy) && !context)
		return 1;
	if ((slow | lossy) && mps_steer_is_retried(context)) {
		p->srtt_us = sight & MPS_STEER_SEES_COPY ? p->srtt_us : 0;
		slow = lossy = 0;
	}
	p->metric = mps_steer_metric(mps_match_rank(row, backup), row->weight, slow) |
		    lossy * MPS_STEER_OVER_LOSS;
	return 0;
}

/* A retransmission pass: the snapshot is for data that some path had before. */
static __always_inline bool mps_steer_copies(const struct mps_look *l)
{
	return l->r->frag_end != l->r->frag;
}

/*
 * Most paths need no more than what is kept of them, and that read for each costs. In p->metric is
 * what mps_account_look() has said.
 */
static __always_inline void mps_steer_see_path(const struct mps_look *l, struct mps_path *p,
					       const struct tcp_sock *tp,
					       struct mps_subflow_store *s)
{
	const __u32 generation = mps_steer_state((void *)&l->st->priv)->generation;
	const __u32 over = p->metric, lossy = over / MPS_STEER_OVER_LOSS & 1;
	const __u32 sight = mps_steer_copies(l) * MPS_STEER_SEES_COPY | lossy * MPS_STEER_SEES_LOSS;
	__u64 context = 0;

	s->lossy = lossy;
	p->metric = tp->srtt_us >> 3;
	if (mps_steer_see(s, p, 0, generation, sight)) {
		bpf_core_read(&context, sizeof(context), &tp->inet_conn.icsk_ulp_data);
		p->metric = tp->srtt_us >> 3;
		mps_steer_see(s, p, context, generation, sight);
	}
	mps_steer_cap(p, over & ~MPS_STEER_OVER_LOSS);
}

/* Completes the snapshot: which paths may carry new data now. */
static __always_inline void mps_steer_paths(const struct mps_look *l, struct mps_conn *c,
					    struct mps_priv *priv)
{
	const struct mps_steer_table *t = mps_steer_table();
	struct mps_steer_state *s = mps_steer_state(priv);
	struct mps_steer_options o = {
		.mode = s->mode,
		.deadline_us = MPS_STEER_DEADLINE_US,
		.head = l->r->head,
		.waits = mps_writer_waits(l->msk),
		.copy = mps_steer_copies(l),
	};
	const __u32 rule = s->rule - 1U;

	/* by other tables it is another rule's number */
	if (t && t->generation == s->generation && rule < MPS_STEER_RULES)
		o.deadline_us = t->rule[rule & (MPS_STEER_RULES - 1)].deadline_us;
	mps_steer_filter(c, priv, &o);
}

#endif /* MPS_BPF_STEERING_H */
