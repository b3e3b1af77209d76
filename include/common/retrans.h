/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which subflow sends the oldest unacknowledged data again: the rules of the
 * kernel's default scheduler, mptcp_subflow_get_retrans() in
 * net/mptcp/protocol.c. A subflow to which TCP still owes data is skipped, an
 * idle one that is no backup is preferred, and an idle backup helps only where
 * nothing has made progress for more than one round.
 */
#ifndef MPS_RETRANS_H
#define MPS_RETRANS_H

#include "model/decision.h"

/* Index of the path, or MPS_WAIT when none is fit. */
MPS_FN __s32 mps_default_retrans(const struct mps_conn *c MPS_ARG)
{
	__s32 pick = MPS_WAIT, backup = MPS_WAIT;
	__u32 i, min_stale = ~0U;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (!(p->flags & MPS_PATH_SENDS))
			continue;
		if (!(p->flags & MPS_PATH_IDLE)) {
			if (p->stale < min_stale)
				min_stale = p->stale;
		} else if (mps_is_backup(p)) {
			if (backup < 0)
				backup = (__s32)i;
		} else if (pick < 0) {
			pick = (__s32)i;
		}
	}
	if (pick >= 0)
		return pick;
	return min_stale > 1 ? backup : MPS_WAIT;
}

#endif /* MPS_RETRANS_H */
