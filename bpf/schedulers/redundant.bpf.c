// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_redundant: every byte on every active subflow that has room.
 *
 * Use it for little data that must not be late, over paths that lose packets or
 * die. It costs as many times the bytes as there are paths. What arrives in the moment before
 * its copies are made has none, and a path that falls behind the first misses parts: with
 * --set ahead=64, and then --set batch=1, they do not, at the price of a round trip in which
 * nothing is sent, per batch or per fragment (up to 32 KB); before 7.3 that is so in any case.
 * --set strict=0 copies only what is still the oldest data when its turn comes. The policy is in
 * include/mps_redundant.h.
 */
#include "compat.h"
#include "tunable.h"
#include "mps_redundant.h"
#include "mps_settle.h"

MPS_TUNABLE(strict, 1, 0, 1, 1, "data in batches, each copied when all before it is acknowledged");
MPS_TUNABLE(windows, 8, 1, 64, 1,
	    "strict: windows per batch, all but the first in the subflows' own queues");
/* up to MPS_PASS_FRAGMENTS - 1 */
MPS_TUNABLE(batch, 63, 1, 63, 1, "strict: most fragments per batch, from 7.3 on; before it is one");
MPS_TUNABLE(
	ahead, 2, 1, 64, 1,
	"strict: fragments of a batch whose end the next does not wait for, 64: it always waits");

/* Of a batch that is given out ahead no copies are to be had yet. */
static __always_inline bool redundant_wants(const struct mps_conn *c, __u32 bytes, const void *priv)
{
	return c->nr_paths > 1 && (!strict || !mps_redundant_is_ahead(priv, c->unacked + bytes));
}

/*
 * From where on a pass is worth asking for: where the batch begins that is to be copied, and
 * anywhere while there is none. The bridge has one pass per jiffy, and one that comes too early
 * makes the next late. The first subflow's acknowledgement of two segments may be the one that
 * gets there; a segment is looked at before its acknowledgement counts. Without a branch, of
 * which each doubles the states of the loop over the subflows. n: index of the subflow.
 */
static __always_inline void redundant_path(const struct mps_conn_store *st,
					   const struct mps_path *path, __u32 n,
					   struct mps_subflow_store *s, const struct mps_round *r)
{
	const struct mps_redundant_state *batch = (const void *)&st->priv;
	const __u32 first = 1U << (batch->lead & 31) >> n & 1;

	s->priv.word[0] = r->head - batch->open - first * 2 * path->mss;
	s->priv.word[1] = batch->open;
}

#define MPS_ON_PATH(msk, st, r, path, n, tp, store) redundant_path(st, path, n, store, r)
#define MPS_CLOCK_IS_EARLY(tp, store, una) \
	((store)->priv.word[1] && mps_before(una, (__u32)(store)->priv.word[0]))
#define MPS_MOST (mps_passes_go_on() ? batch : 1)

/* Copies are wanted for all that is given out, not only for its end. */
#define MPS_ENDS_BURST(c, v, priv) redundant_wants(c, (v).bytes, priv)
#define MPS_COPIES_AMID true
/* A batch waits in queues in any case, and what is late on one path is on time on another. */
#define MPS_FIT 0
#define MPS_COVER 0
/* Who leads fills the peer's window since it is the first of all, and not by being slow. */
#define MPS_PENALISE 0
#define MPS_SNDBUF(c, path) mps_redundant_sndbuf(MPS_MOST)
#include "frame.h"

_Static_assert(sizeof(struct mps_redundant_state) <= MPS_PRIV_BYTES, "state of a connection");

static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
{
	const struct mps_redundant_options o = {
		.strict = strict,
		.most = MPS_MOST,
		.windows = windows,
		.ahead = ahead,
	};

	return mps_redundant_pick(c, priv, &o);
}

static __always_inline __u64 copies(const struct mps_conn *c, void *priv)
{
	return mps_redundant_copies(c, priv, windows);
}

MPS_SCHEDULER_COPIES(bpf_redundant, "every byte on every subflow that has room", pick, copies);
