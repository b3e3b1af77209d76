// SPDX-License-Identifier: GPL-2.0
/*
 * Which pass is the timer's? Each pass restarts the retransmission timer (__mptcp_clean_una()),
 * one on request, too, so requests that come more often than it fires would keep it from firing:
 * what a dead subflow holds would not be repaired, nor the subflow be given up. So the time is
 * kept at which it would have fired, had only acknowledgements restarted it. A pass behind that
 * is the timer's, whoever asked.
 */
#include <linux/hash.h>
#include <linux/spinlock.h>
#include <net/mptcp.h>
#include "bridge.h"
#include "kernel_private.h"

/* By hash of the connection: two that share a place forget each other's time, and wait longer. */
#define MSB_ROUNDS_BITS 10
static struct msb_round {
	const struct mptcp_sock *msk;
	u64 una; /* what was acknowledged at the last pass */
	unsigned long due;
} msb_rounds[1 << MSB_ROUNDS_BITS];
static DEFINE_SPINLOCK(msb_rounds_lock);

/* Before a pass on request, under the connection's lock: is it due without the request? */
bool msb_round_is_due(struct mptcp_sock *msk)
{
	struct msb_round *round = &msb_rounds[hash_ptr(msk, MSB_ROUNDS_BITS)];
	const u64 una = msb_una(msk);
	bool due = false, owes = msb_has_unacked(msk);

	if (!msb_rtx_timer_runs(msk))
		return false;
	spin_lock_bh(&msb_rounds_lock);
	if (!owes) {
		/* what is sent next, perhaps after a pause, begins at the same byte */
		round->msk = NULL;
	} else if (round->msk != msk || round->una != una) {
		round->msk = msk;
		round->una = una;
		round->due = msb_rtx_timer_due(msk);
	} else if (time_after_eq(jiffies, round->due)) {
		round->due = jiffies + msb_timer_ival(msk);
		due = true;
	}
	spin_unlock_bh(&msb_rounds_lock);
	return due;
}
