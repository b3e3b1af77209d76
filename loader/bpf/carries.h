/* SPDX-License-Identifier: GPL-2.0 */
/* Steering: how far up the order of keys new data could go at a connection's last look. */
#ifndef MPS_LOADER_BPF_CARRIES_H
#define MPS_LOADER_BPF_CARRIES_H

#include "policy/steer_key.h"

/* The greatest key of a path that could carry; 0: that of none, or of the lowest rank. */
static __always_inline __u32 mps_greatest_key(const struct mps_conn *c)
{
	__u32 i, key, greatest = 0;

	MPS_UNROLL
	for (i = 0; i < MPS_MAX_PATHS; i++) {
		key = mps_steer_key(&c->path[i], MPS_STEER_BY_RANK, 0);
		if (i < c->nr_paths && key != MPS_STEER_NO_KEY && !mps_is_backup(&c->path[i]) &&
		    key > greatest)
			greatest = key;
	}
	return greatest;
}

#endif /* MPS_LOADER_BPF_CARRIES_H */
