/* SPDX-License-Identifier: GPL-2.0 */
/* One reading as `stats` tells it: the document of docs/reference/stats.schema.json, or its text.
 */
#ifndef MPS_STATS_ROUND_H
#define MPS_STATS_ROUND_H

#include "kernel/netns.h"
#include "stats/delta.h"

struct stats_round {
	const struct reading *now;
	struct stats_delta delta;
	const struct netns_list *namespaces;
	double every;	  /* seconds, 0: once */
	unsigned int top; /* so many of the busiest; 0: all */
};

/* How many connections it tells of. */
unsigned int stats_round_size(const struct stats_round *r);
/* At most so many of them. */
void stats_round_print(const struct stats_round *r, unsigned int most);

#endif /* MPS_STATS_ROUND_H */
