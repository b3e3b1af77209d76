/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Does anybody save steering's accounts each minute? Without that no period ends. The accounts'
 * file does not tell, since it is not written where nothing was counted.
 */
#ifndef MPS_STEER_SAVER_H
#define MPS_STEER_SAVER_H

#include "sched/steer_table.h"

#define STEER_TIMER "mptcp-sched-account.timer"
#define HINT_SAVER \
	"`systemctl enable --now " STEER_TIMER "`, or cron with `" PROGRAM " steer account save`"

/* `account save` has done it. */
void steer_saver_was_here(void);

/* A path with a cap whose period nobody ends, or NULL: none, or it cannot be told yet. */
const struct mps_steer_path *steer_saver_misses(const struct steer_table *s);
/* The first path with a cap, or NULL. */
const struct mps_steer_path *steer_capped(const struct steer_table *s);

#endif /* MPS_STEER_SAVER_H */
