// SPDX-License-Identifier: GPL-2.0
/*
 * A glance, or the look at a lone subflow, and the full look at each decision. It keeps book of
 * whether they agree (test_glance.py).
 */
#include "frame/scheduler.h"
#include "policy/ecf_extended.h"

MPS_COMMON_TUNABLES(500, 2, 1);
MPS_TUNABLE_FIXED(which, 0, 0, 1, 1, "0: the policy of bpf_minrtt, 1: that of bpf_ecf");
MPS_TUNABLE(agreed, 0, 0, 1000000000, 1, "glances that said what the decision said");
MPS_TUNABLE(differed, 0, 0, 1000000000, 1, "glances that did not");
MPS_TUNABLE(moved, 0, 0, 1000000000, 1, "of neither kind: a segment came in between");
MPS_TUNABLE(alone, 0, 0, 1000000000, 1, "looks at a lone subflow that ended as the full look did");
MPS_TUNABLE(not_alone, 0, 0, 1000000000, 1, "such looks that did not");
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

MPS_POLICY(closer, .pick = pick, .fills_queues = true);

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

#define NO_BYTES ~0U

/* What a connection of one subflow would give it; NO_BYTES where that takes a full look. */
static __always_inline __u32 given_alone(struct mptcp_sock *msk, struct mps_conn_store *st)
{
	struct mps_verdict v;
	struct mps_round r;

	mps_snap_conn(msk, st, &r);
	if (!mps_look_alone(msk, st, &r))
		return NO_BYTES;
	st->snap.fit = mps_fit(st->snap.unit);
	v = mps_unpack(closer_decide(&st->snap, &st->priv));
	return v.path ? 0 : v.bytes;
}

static __always_inline int t_glance_send(struct mptcp_sock *msk)
{
	struct mps_conn_store *st = mps_store(msk, &closer);
	__u64 decided, waited, mark;
	__u32 says, waits, as_said, bytes = NO_BYTES;
	int ret;

	if (!st)
		return mps_send_stateless(msk);
	mark = mark_of(msk);
	mps_glance_fit(msk, st, !which);
	says = mps_glance(msk, st);
	waits = says & MPS_GLANCE_WAIT;
	if (says & MPS_GLANCE_ALONE)
		bytes = given_alone(msk, st);
	decided = st->counter[MPS_C_DECISIONS];
	waited = st->counter[MPS_C_WAIT_NO_ROOM];
	ret = mps_send(msk, st, &closer);
	as_said = decided + 1 == st->counter[MPS_C_DECISIONS] &&
		  waited + 1 == st->counter[MPS_C_WAIT_NO_ROOM];
	if (bytes != NO_BYTES && (!ret && bytes == (__u32)msk->snd_burst))
		alone++;
	else if (bytes != NO_BYTES && mark == mark_of(msk))
		not_alone++;
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
