// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_redundant: every byte on every active subflow that has room.
 *
 * Use it for little data that must not be late, over paths that lose packets or
 * die. It costs as many times the bytes as there are paths, and, being strict,
 * gives out a window per round trip, before 7.3 one fragment (up to 32 KB). A path
 * that falls behind the first misses parts of a window; with --set batch=1, which
 * takes longer, it does not. --set strict=0 copies only what is still the oldest data
 * when its turn comes. The policy is in include/mps_redundant.h.
 */
#include "compat.h"
#include "tunable.h"
#include "mps_redundant.h"

MPS_TUNABLE(strict, 1, 0, 1, 1, "no new data before the last batch was acknowledged");
/* up to MPS_PASS_FRAGMENTS - 1 */
MPS_TUNABLE(batch, 31, 1, 31, 1, "strict: fragments per round trip, from 7.3 on");

/* Copies are wanted for all that is given out, not only for its end. */
#define MPS_ENDS_BURST(c, v) true
#define MPS_COPIES_AMID true
/* A batch ends where its leader has no room, and the next one begins a round trip later. */
#define MPS_FIT 0
#define MPS_COVER 0
#include "frame.h"

_Static_assert(sizeof(struct mps_redundant_state) <= MPS_PRIV_BYTES, "state of a connection");

static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
{
	const __u32 most = mps_passes_go_on() ? batch : 1;

	return mps_redundant_pick(c, priv, strict, most);
}

static __always_inline __u64 copies(const struct mps_conn *c, void *priv)
{
	return mps_redundant_copies(c, priv);
}

MPS_SCHEDULER_COPIES(bpf_redundant, "every byte on every subflow that has room", pick, copies);
