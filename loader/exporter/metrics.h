/* SPDX-License-Identifier: GPL-2.0 */
/* The totals as text for Prometheus; names and descriptions come from the tables of counters. */
#ifndef MPS_METRICS_H
#define MPS_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include "exporter/totals.h"
#include "kernel/registry.h"

/* About the exporter itself. */
struct self {
	__u64 reads, failures;
	double read_s; /* how long the last one took */
};

struct metrics {
	const struct totals *totals;
	const struct reading *reading;	     /* the last one */
	const struct netns_list *namespaces; /* as they were then, with their schedulers */
	const struct registry *schedulers;
	const struct self *self;
	bool per_connection, openmetrics;
};

struct out;

/* metrics_steer.c */
void metrics_steering(const struct out *o, const struct reading *r);

/* The caller frees it. */
char *metrics_text(const struct metrics *m, size_t *len);

#endif /* MPS_METRICS_H */
