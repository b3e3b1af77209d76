/* SPDX-License-Identifier: GPL-2.0 */
/* steer: what it shows. */
#ifndef MPS_CMD_STEER_H
#define MPS_CMD_STEER_H

#include <stddef.h>
#include "cli/output.h"
#include "sched/steer_fields.h"
#include "sched/steer_table.h"

/* steer_show.c. A row's fields and, as it is written, all of it. comment: behind that, as text. */
void output_row(output_t *item, const struct steer_kind *k, const void *row, const char *comment);
void output_rule(output_t *list, const struct mps_steer_rule *r, unsigned int number);
/* Which rule such a connection matches, and why none before it. */
void show_tested(const struct mps_steer_table *t, const struct steer_asked *asked);

/*
 * steer_account.c. What stands behind a path's row, as a comment: "" where it has no cap. Into
 * item, all of it.
 */
void output_account(output_t *item, const struct steer_table *s, const struct mps_steer_path *p,
		    char *comment, size_t size);
void show_accounts(const struct steer_table *s);

/*
 * steer_push.c. The paths go to the peer by this channel, a command of the shell in front of the
 * one that is run there.
 */
enum exit_code steer_push(const struct mps_steer_table *t, const char *channel);

/* steer_option.c. For a cgroup, on or off; NULL: shows for which it is. */
enum exit_code steer_option(struct steer_table *s, const char *cgroup, bool off);

#endif /* MPS_CMD_STEER_H */
