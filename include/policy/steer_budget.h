/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Redundant with a budget: copies are so many per cent of the new bytes at most. New data comes
 * first, and goes as by minRTT. When nothing new waits, what is on its way is copied to each path
 * that has room, as far as the budget goes. So a message is copied as a whole or not at all, and of
 * a long transfer its end is.
 *
 * What was counted decides, of the subflows that there are: the counters of state/stats.h.
 */
#ifndef MPS_POLICY_STEER_BUDGET_H
#define MPS_POLICY_STEER_BUDGET_H

#include "policy/redundant.h"
#include "state/steer.h"

/* A policy's state of a connection; in front is what it has without a budget. */
struct mps_budget_state {
	struct mps_redundant_state redundant;
	__s64 left; /* bytes that may be copied yet, in MPS_BUDGET_PARTS */
};
_Static_assert(sizeof(struct mps_budget_state) <= MPS_STEER_POLICY_BYTES, "state of a policy");

/* Of one byte: per cent. */
#define MPS_BUDGET_PARTS 100

/* After mps_steer_begin(). */
static __always_inline void mps_budget_begin(struct mps_priv *priv, __u32 mode, __u32 percent)
{
	if (mode == MPS_STEER_REDUNDANT)
		mps_steer_state(priv)->budget = (__u8)percent;
}

/* Of path n, the first of which is 0. Without a branch, which the verifier would follow twice. */
static __always_inline void mps_budget_see(struct mps_priv *priv, __u32 n,
					   const struct mps_subflow_store *s)
{
	struct mps_budget_state *b = (void *)priv;
	const __s64 more = (n + MPS_MAX_PATHS - 1) / MPS_MAX_PATHS;

	b->left = b->left * more + (__s64)(s->counter[MPS_S_SENT] * mps_steer_state(priv)->budget) -
		  (__s64)(s->counter[MPS_S_COPIED] * MPS_BUDGET_PARTS);
}

static __always_inline bool mps_budget_pays(const struct mps_budget_state *b, __u64 bytes)
{
	return b->left >= (__s64)(bytes * MPS_BUDGET_PARTS);
}

/* Which of the paths that lack the fragment get it: mask of them; all, the first, or none. */
static __always_inline __u32 mps_budget_limit(const struct mps_budget_state *b, __u32 unit,
					      __u32 mask)
{
	__u32 i, paths = 0;

	MPS_UNROLL
	for (i = 0; i < MPS_MAX_PATHS; i++)
		paths += mask >> i & 1;
	if (mps_budget_pays(b, (__u64)unit * paths))
		return mask;
	return mps_budget_pays(b, unit) ? mask & -mask : MPS_COPY_NONE;
}

MPS_FN __u32 mps_budget_copies(const struct mps_conn *c MPS_ARG, struct mps_priv *priv MPS_ARG)
{
	if (c->pending)
		return MPS_COPY_NONE;
	return mps_budget_limit((void *)priv, c->unit, mps_redundant_lackers(c, 0, 1));
}

/* Is a copy worth a try of what this verdict assigns? It has not been counted yet. */
static __always_inline bool mps_budget_ends(const struct mps_conn *c, const struct mps_verdict *v,
					    const struct mps_budget_state *b)
{
	return c->nr_paths > 1 && v->bytes >= c->pending && mps_budget_pays(b, 1);
}

#endif /* MPS_POLICY_STEER_BUDGET_H */
