// SPDX-License-Identifier: GPL-2.0
/*
 * A glance, perhaps a quick look, and the full look at each decision. It keeps book of whether
 * they agree (test_glance.py).
 */
#include "frame/scheduler.h"
#include "hooks/thin.h"
#include "policy/ecf_extended.h"

MPS_COMMON_TUNABLES(500, 2, 1);
MPS_TUNABLE_FIXED(which, 0, 0, 2, 1, "the policy of 0: bpf_minrtt, 1: bpf_ecf, 2: bpf_auto");
MPS_TUNABLE(agreed, 0, 0, 1000000000, 1, "glances that said what the decision said");
MPS_TUNABLE(differed, 0, 0, 1000000000, 1, "glances that did not");
MPS_TUNABLE(moved, 0, 0, 1000000000, 1, "of neither kind: a segment came in between");
MPS_TUNABLE(quick, 0, 0, 1000000000, 1, "quick looks that ended as the full look did");
MPS_TUNABLE(not_quick, 0, 0, 1000000000, 1, "such looks that did not");
MPS_TUNABLE(missed, 0, 0, 1000000000, 1, "waits for room that took a full look");

static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
{
	const struct mps_ecf_options o = {
		.beta = 250,
		.estimate = MPS_EST_GROW | MPS_EST_RATE,
		.whole = 1,
		.buffer = 1,
	};

	return which ? mps_ecf_pick(c, priv, &o) : mps_minrtt_pick(c);
}

/* That of bpf_auto. */
static __always_inline void see_path(const struct mps_look *l, struct mps_path *p, __u32 n,
				     struct tcp_sock *tp, struct mps_subflow_store *s)
{
	if (which == 2)
		mps_thin_see(l, p, tp, s, 4, 3, true);
}

MPS_POLICY(closer, .pick = pick, .see_path = see_path, .segment = mps_thin_segment,
	   .fills_queues = true);

/* Another with each segment that comes in, is acknowledged or queued. */
static __always_inline __u64 mark_of(const struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *subflow;
	__u64 mark = msk->wnd_end + msk->snd_una;

	mps_for_each_subflow(subflow, msk) {
		const struct tcp_sock *tp = mps_tcp(subflow);

		if (tp)
			mark += tp->segs_in + tp->snd_una + tp->write_seq;
	}
	return mark;
}

#define NO_WORD 0

/* Too much for the stack. One CPU makes one decision at a time. */
static struct mps_priv before;
static struct mps_round quick_round;
static volatile __u32
	idle_us[MPS_MAX_PATHS]; /* the quick look's RTT of a path that was idle; or 0 */

static __always_inline __u32 idle_rtt(const struct mps_path *p)
{
	return p->flags & MPS_PATH_IDLE ? p->srtt_us : 0;
}

static __always_inline void keep_idle(const struct mps_conn *c)
{
	for (__u32 i = 0; i < MPS_MAX_PATHS; i++)
		idle_us[i] = which == 2 ? idle_rtt(&c->path[i]) : 0;
}

/* Has the full look another RTT of a path that is idle? */
static __always_inline bool other_idle(const struct mps_conn *c)
{
	bool other = false;

	for (__u32 i = 0; i < MPS_MAX_PATHS; i++)
		other |= i < c->nr_paths && idle_us[i] && idle_rtt(&c->path[i]) &&
			 idle_us[i] != c->path[i].srtt_us;
	return other;
}

/* What a decision by a quick look would be; NO_WORD where it takes a full one. */
static __always_inline __u64 decide_quickly(struct mptcp_sock *msk, struct mps_conn_store *st)
{
	__u64 word;

	mps_snap_conn(msk, st, &quick_round);
	if (!mps_look_quickly(msk, st, &quick_round, which < 2 ? MPS_QUICK_ALIKE : MPS_QUICK_KEPT))
		return NO_WORD;
	keep_idle(&st->snap);
	st->snap.fit = mps_fit(st->snap.unit);
	mps_cover_repairs(msk, st, &closer_policy);
	before = st->priv;
	word = closer_decide(&st->snap, &st->priv);
	st->priv = before;
	return word;
}

static __always_inline int t_glance_send(struct mptcp_sock *msk)
{
	struct mps_conn_store *st = mps_store(msk, &closer);
	__u64 decided, waited, mark, word = NO_WORD;
	__u32 says, waits, as_said;
	int ret;

	if (!st)
		return mps_send_stateless(msk);
	mark = mark_of(msk);
	mps_glance_fit(msk, st, !which);
	says = mps_glance(msk, st);
	waits = says & MPS_GLANCE_WAIT;
	if (says & MPS_GLANCE_PLAIN)
		word = decide_quickly(msk, st);
	before = st->priv;
	decided = st->counter[MPS_C_DECISIONS];
	waited = st->counter[MPS_C_WAIT_NO_ROOM];
	ret = mps_send(msk, st, &closer);
	as_said = decided + 1 == st->counter[MPS_C_DECISIONS] &&
		  waited + 1 == st->counter[MPS_C_WAIT_NO_ROOM];
	if (word != NO_WORD && word == closer_decide(&st->snap, &before) && !other_idle(&st->snap))
		quick++;
	else if (word != NO_WORD && mark == mark_of(msk))
		not_quick++;
	if (!waits)
		missed += as_said;
	else if (as_said && !st->memo.doubt && st->memo.wnd_end == (__u32)msk->wnd_end)
		agreed++;
	else if (mark != mark_of(msk))
		moved++; /* an acknowledgement came between the two: nobody holds TCP's lock */
	else
		differed++;
	return ret;
}

static __always_inline int t_glance_retrans(struct mptcp_sock *msk)
{
	return mps_retrans(msk, mps_store(msk, &closer), &closer);
}

MPS_OPS(t_glance, "t_glance", "looks twice", t_glance_send, t_glance_retrans);
