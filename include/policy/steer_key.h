/* SPDX-License-Identifier: GPL-2.0 */
/* Steering: the order in which paths may carry, as a key of each. policy/steer.h goes by it. */
#ifndef MPS_POLICY_STEER_KEY_H
#define MPS_POLICY_STEER_KEY_H

#include "policy/minrtt.h"
#include "state/steer.h"

/* No path has it. */
#define MPS_STEER_NO_KEY (~0U)

struct mps_steer_options {
	__u32 mode;
	__u32 deadline_us;
	__u32 head;  /* what is assigned next, low half */
	__u32 waits; /* the writer waits for room */
	__u32 copy;  /* get_retrans: for data that some path had before */
};

/* How paths are put in order; 0: neither. */
enum mps_steer_how {
	MPS_STEER_BY_RANK = 1 << 0,
	MPS_STEER_BY_LOSS = 1 << 1, /* and those in recovery after a timeout last */
};

/* What is above the rank in a key by rank. */
enum mps_steer_above {
	MPS_STEER_KEY_OUT = 1 << 8, /* over a threshold */
	MPS_STEER_KEY_BACKUP = 1 << 9,
	MPS_STEER_KEY_LOSS = 1 << 10,
	MPS_STEER_KEY_CAP = 1 << 11, /* over its cap */
};

/*
 * The order in which paths may carry, the least first. By rank: first those that are alive, then
 * those over a threshold, then backups that no row matches, then those in recovery. Else: those
 * within thresholds, the others, backups; copies on metered paths only where nothing else delivers.
 * Those over their cap are the last in any case: others live until the kernel has given them up.
 */
static __always_inline __u32 mps_steer_key(const struct mps_path *p, __u32 how, __u32 copy)
{
	const __u32 rank = mps_steer_rank(p), out = mps_steer_is_out(p);
	const __u32 loss = !!(p->flags & MPS_PATH_LOSS);
	const __u32 backup = rank >= MPS_STEER_RANK_BACKUP;
	const __u32 metered = rank >= MPS_STEER_RANK_METERED, cap = mps_steer_is_over_cap(p);

	if (!mps_is_active(p))
		return MPS_STEER_NO_KEY;
	if (!how)
		return cap << 3 | backup << 2 | out << 1 | ((metered | loss) & copy);
	return rank | out * MPS_STEER_KEY_OUT | backup * MPS_STEER_KEY_BACKUP |
	       (how / MPS_STEER_BY_LOSS & loss) * MPS_STEER_KEY_LOSS | cap * MPS_STEER_KEY_CAP;
}

static __always_inline bool mps_steer_is_alive(__u32 key)
{
	return !(key & (MPS_STEER_KEY_OUT | MPS_STEER_KEY_LOSS | MPS_STEER_KEY_CAP));
}

/* The least key from this one on. */
MPS_FN __u32 mps_steer_least(const struct mps_conn *c MPS_ARG, __u32 how, __u32 copy, __u32 from)
{
	__u32 i, key, least = MPS_STEER_NO_KEY;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		if (i >= c->nr_paths)
			break;
		key = mps_steer_key(&c->path[i], how, copy);
		if (key >= from && key < least)
			least = key;
	}
	return least;
}

#endif /* MPS_POLICY_STEER_KEY_H */
