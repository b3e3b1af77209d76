// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_redundant: every byte on every active subflow that has room.
 *
 * Use it for little data that must not be late, over paths that lose packets or
 * die. It costs as many times the bytes as there are paths, and, being strict, stands
 * still for a round trip after every few windows, before 7.3 after one fragment (up to
 * 32 KB). A path that falls behind the first misses parts of them; with --set batch=1,
 * which takes longer, it does not. --set strict=0 copies only what is still the oldest data
 * when its turn comes. The policy is in include/mps_redundant.h.
 */
#include "compat.h"
#include "tunable.h"
#include "mps_redundant.h"

MPS_TUNABLE(strict, 1, 0, 1, 1, "no new data before the last batch was acknowledged");
MPS_TUNABLE(windows, 8, 1, 64, 1,
	    "strict: windows per batch, all but the first in the subflows' own queues");
/* up to MPS_PASS_FRAGMENTS - 1 */
MPS_TUNABLE(batch, 63, 1, 63, 1, "strict: fragments per round trip, from 7.3 on");

#define MPS_MOST (mps_passes_go_on() ? batch : 1)

/* Copies are wanted for all that is given out, not only for its end. */
#define MPS_ENDS_BURST(c, v) ((c)->nr_paths > 1)
#define MPS_COPIES_AMID true
/* A batch waits in queues in any case, and what is late on one path is on time on another. */
#define MPS_FIT 0
#define MPS_COVER 0
#define MPS_SNDBUF(c, path) mps_redundant_sndbuf(MPS_MOST)
#include "frame.h"

_Static_assert(sizeof(struct mps_redundant_state) <= MPS_PRIV_BYTES, "state of a connection");

static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
{
	return mps_redundant_pick(c, priv, strict, MPS_MOST, windows);
}

static __always_inline __u64 copies(const struct mps_conn *c, void *priv)
{
	return mps_redundant_copies(c, priv, windows);
}

MPS_SCHEDULER_COPIES(bpf_redundant, "every byte on every subflow that has room", pick, copies);
