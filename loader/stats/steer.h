/* SPDX-License-Identifier: GPL-2.0 */
/* What `stats` tells of steering (state/steer.h): of a connection its rule, of a subflow its row.
 */
#ifndef MPS_STATS_STEER_H
#define MPS_STATS_STEER_H

#include "cli/output.h"
#include "stats/delta.h"

/* Has it a rule and a mode, and its subflows rows of paths? */
bool stats_is_steered(const struct mps_conn_rec *rec);

/* The row of a path that a subflow has in these tables. NULL: none, or it is of others. */
static inline const struct mps_steer_path *stats_row(const struct mps_steer_table *t,
						     const struct mps_conn_rec *conn,
						     const struct mps_subflow_rec *rec)
{
	const unsigned int row = rec->store.row & ~MPS_STEER_ROW_OUT;

	if (t->generation != conn->steer.generation || !row || row > t->nr_paths)
		return NULL;
	return &t->path[row - 1];
}

/* Which subflows of a connection new data goes to: those whose key (policy/steer_key.h) is within.
 */
struct stats_carriers {
	__u32 from, to; /* of all keys where the mode does not go by ranks */
};

struct stats_carriers stats_carriers(const struct stats_delta *d, const struct conn_delta *c);

void stats_output_rule(output_t *item, const struct stats_delta *d, const struct conn_delta *c);
void stats_output_row(output_t *item, const struct stats_delta *d, const struct conn_delta *c,
		      const struct mps_subflow_rec *rec);
void stats_output_row_flags(output_t *flags, const struct stats_delta *d,
			    const struct conn_delta *c, const struct mps_subflow_rec *rec,
			    const struct stats_carriers *carriers);
/* Text: the rule, and each row that a subflow has. */
void stats_print_steer(const struct stats_delta *d, const struct conn_delta *c);

#endif /* MPS_STATS_STEER_H */
