// SPDX-License-Identifier: GPL-2.0
/*
 * Three policies in one scheduler, chosen while connections live: by `which` all data goes to the
 * first subflow, or to the last, or the subflows take turns (test_policies.py).
 */
#include "frame/choose.h"
#include "policy/rr.h"

MPS_COMMON_TUNABLES(0, 0, 0);
MPS_TUNABLE(which, 0, 0, 3, 1, "0: the first subflow, 1: the last, 2: turns");

static __always_inline struct mps_verdict only(const struct mps_conn *c, __u32 i)
{
	if (i >= c->nr_paths || !mps_is_available(c, &c->path[i & (MPS_MAX_PATHS - 1)]))
		return mps_wait_for(MPS_WAIT_NO_ROOM);
	return mps_send_on(c, i);
}

/* How often it decided since it was chosen: state of its own. */
static __always_inline struct mps_verdict first(const struct mps_conn *c, void *priv)
{
	(*(__u64 *)priv)++;
	return only(c, 0);
}

static __always_inline struct mps_verdict last(const struct mps_conn *c, void *priv)
{
	(*(__u64 *)priv)++;
	return only(c, c->nr_paths - 1);
}

static __always_inline struct mps_verdict turns(const struct mps_conn *c, void *priv)
{
	return mps_rr_pick(c, priv, 1);
}

static __always_inline __u32 choose(struct mptcp_sock *msk, const struct mps_conn_store *st)
{
	return which;
}

MPS_POLICY(t_first, .pick = first);
MPS_POLICY(t_last, .pick = last);
MPS_POLICY(t_turns, .pick = turns);
MPS_SCHEDULER_CHOOSES(t_three, "three policies", MPS_ONLY_WITH(copy), choose, t_first, t_last,
		      t_turns);
