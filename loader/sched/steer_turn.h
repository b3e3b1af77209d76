/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A path as the other end sees it: what is local here is remote there. Devices are this machine's,
 * so there a path is known by the addresses that its device has here.
 */
#ifndef MPS_STEER_TURN_H
#define MPS_STEER_TURN_H

#include "sched/steer_edit.h"

/* Those of t for the peer's table, empty at first; fails where one cannot be told there. */
enum exit_code steer_turn_paths(struct mps_steer_table *peer, const struct mps_steer_table *t);

#endif /* MPS_STEER_TURN_H */
