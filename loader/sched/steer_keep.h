/* SPDX-License-Identifier: GPL-2.0 */
/* What was set at run time and goes with bpf_steer: kept where it is unloaded and loaded anew. */
#ifndef MPS_STEER_KEEP_H
#define MPS_STEER_KEEP_H

#include "sched/steer_option.h"
#include "sched/steer_table.h"

struct steer_kept {
	struct mps_steer_table *tables; /* NULL: they cannot be read, */
	int err;			/* and why */
	__u64 option[STEER_OPTIONS_MAX];
	unsigned int nr_options;
};

/* Of what is loaded. The caller frees it. */
void steer_keep(struct steer_kept *k);
/* To what is loaded now. */
enum exit_code steer_put_back(const struct steer_kept *k);
void steer_kept_free(struct steer_kept *k);

#endif /* MPS_STEER_KEEP_H */
