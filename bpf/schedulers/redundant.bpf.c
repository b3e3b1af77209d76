// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_redundant: every byte on every active subflow that has room.
 *
 * Use it for little data that must not be late, over paths that lose packets or
 * die. It costs as many times the bytes as there are paths. What arrives in the moment before
 * its copies are made has none, and a path that falls behind the first misses parts: with
 * --set overlap=64, and then --set batch_fragments=1, they do not, at the price of a round trip in
 * which nothing is sent, per batch or per fragment (up to 32 KB). Before 7.3 a batch is one
 * fragment, and with overlap=1 nothing waits for its end.
 * --set strict=0 copies only what is still the oldest data when its turn comes. The policy is in
 * include/policy/redundant.h.
 */
#include "frame/scheduler.h"
#include "hooks/redundant.h"

MPS_TUNABLE(
	strict, 1, 0, 1, 1,
	"1: data in batches, each copied when all before is acknowledged; 0: copies of the oldest only");
MPS_WAS(batch_windows, windows);
MPS_TUNABLE(
	batch_windows, 8, 1, 64, 1,
	"strict: windows of data per batch; all but the first wait in the subflows' own queues");
MPS_WAS(batch_fragments, batch);
/* up to MPS_PASS_FRAGMENTS - 1 */
MPS_TUNABLE(batch_fragments, 63, 1, 63, 1,
	    "strict: most fragments (up to 32 KB) per batch; always one before 7.3");
MPS_WAS(overlap, ahead);
MPS_TUNABLE(
	overlap, 2, 1, 64, 1,
	"strict: the next batch does not wait for the end of one of so many fragments; 64: always waits");

/*
 * min_room: a batch waits in queues in any case. queue_cap: what is late on one path is on time on
 * another. penalise: who leads fills the peer's window since it is the first of all, and not by
 * being slow.
 */
MPS_COMMON_TUNABLES(0, 0, 0);

/* Of a batch that is assigned ahead no copies are to be had yet. */
static __always_inline bool ends_burst(const struct mps_conn *c, const struct mps_verdict *v,
				       void *priv)
{
	return c->nr_paths > 1 && (!strict || !mps_redundant_is_ahead(priv, c->unacked + v->bytes));
}

static __always_inline void see_path(const struct mps_look *l, struct mps_path *path, __u32 n,
				     struct tcp_sock *tp, struct mps_subflow_store *s)
{
	mps_redundant_see(l, path, n, s);
}

static __always_inline __u32 most(void)
{
	return mps_passes_go_on() ? batch_fragments : 1;
}

static __always_inline __u32 room(const struct mps_conn *c, __u32 path)
{
	return mps_redundant_sndbuf(most());
}

static __always_inline struct mps_verdict pick(const struct mps_conn *c, void *priv)
{
	const struct mps_redundant_options o = {
		.strict = strict,
		.most = most(),
		.windows = batch_windows,
		.ahead = overlap,
	};

	return mps_redundant_pick(c, priv, &o);
}

static __always_inline __u64 copies(const struct mps_conn *c, void *priv)
{
	return mps_redundant_copies(c, priv, batch_windows);
}

/* Copies are wanted for all that is assigned, not only for its end. */
MPS_POLICY(redundant, .pick = pick, .copies = copies, .fills_queues = true, .copies_amid = true,
	   .see_path = see_path, .too_early = mps_redundant_too_early, .ends_burst = ends_burst,
	   .sndbuf = room);
MPS_SCHEDULER(bpf_redundant, "every byte on every subflow that has room", redundant);
