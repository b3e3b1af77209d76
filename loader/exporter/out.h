/* SPDX-License-Identifier: GPL-2.0 */
/* Samples as Prometheus and OpenMetrics have them: a family, and of each sample name, labels,
 * value. */
#ifndef MPS_EXPORTER_OUT_H
#define MPS_EXPORTER_OUT_H

#include <stdbool.h>
#include <stdio.h>
#include <linux/types.h>

#define PREFIX "mptcp_sched_"

enum kind { COUNTER, GAUGE };

struct out {
	FILE *f;
	bool openmetrics;
};

void out_family(const struct out *o, enum kind kind, const char *name, const char *text);
void out_begin(const struct out *o, enum kind kind, const char *name);
/* key="value", with a comma where one goes before. */
void out_label(const struct out *o, const char *key, const char *value, bool first);
void out_end(const struct out *o, __u64 value);

#endif /* MPS_EXPORTER_OUT_H */
