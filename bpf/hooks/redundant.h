/* SPDX-License-Identifier: GPL-2.0 */
/* What bpf_redundant's policy needs of the frame beyond a decision: policy/redundant.h. */
#ifndef MPS_BPF_REDUNDANT_H
#define MPS_BPF_REDUNDANT_H

#include "frame/policy.h"
#include "policy/redundant.h"

_Static_assert(sizeof(struct mps_redundant_state) <= MPS_PRIV_BYTES, "state of a connection");

/*
 * From where on a pass is worth asking for: where the batch begins that is to be copied, and
 * anywhere while there is none. The bridge has one pass per jiffy, and one that comes too early
 * makes the next late. The first subflow's acknowledgement of two segments may be the one that
 * gets there; a segment is looked at before its acknowledgement counts. Without a branch, of
 * which each doubles the states of the loop over the subflows. n: index of the subflow.
 */
static __always_inline void mps_redundant_see(const struct mps_look *l, const struct mps_path *path,
					      __u32 n, struct mps_subflow_store *s)
{
	const struct mps_redundant_state *state = (const void *)&l->st->priv;
	const __u32 first = 1U << (state->lead & 31) >> n & 1;

	s->priv.word[0] = l->r->head - state->open - first * 2 * path->mss;
	s->priv.word[1] = state->open;
}

static __always_inline bool mps_redundant_too_early(const struct mps_subflow_store *s, __u32 una)
{
	return s->priv.word[1] && mps_before(una, (__u32)s->priv.word[0]);
}

#endif /* MPS_BPF_REDUNDANT_H */
