/* SPDX-License-Identifier: GPL-2.0 */
/* One connection as `stats` shows it, as JSON and as text. */
#ifndef MPS_STATS_PRINT_H
#define MPS_STATS_PRINT_H

#include "cli/output.h"
#include "stats/delta.h"

/* item: NULL where only the text is wanted. */
void stats_print_conn(output_t *item, const struct stats_delta *d, const struct conn_delta *c,
		      const char *netns);

#endif /* MPS_STATS_PRINT_H */
