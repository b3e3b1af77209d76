/* SPDX-License-Identifier: GPL-2.0 */
/* Steering's tables in the kernel, those of the scheduler that is loaded (state/steer.h). */
#ifndef MPS_STEER_TABLE_H
#define MPS_STEER_TABLE_H

#include <stdbool.h>
#include "cli/error.h"
#include "state/steer.h"

struct steer_table {
	int map;		     /* the outer one */
	int slots;		     /* map of accounts */
	long long loaded;	     /* when the scheduler was, in seconds since the boot */
	struct mps_steer_table *t;   /* as it is, then as it is to be */
	struct mps_steer_table *was; /* as it is */
	struct mps_steer_slot slot[MPS_STEER_SLOTS];
};

/*
 * 0, or a negative errno without an error: -ENOENT: the scheduler is not loaded; -EPROTO: its
 * tables are of another version. The caller closes it in any case.
 */
int steer_table_look(struct steer_table *s);
/* Why it cannot be read, of one that is loaded. */
const char *steer_table_why(int err);

/* Of what is loaded, empty where nobody has written any. The caller closes it in any case. */
enum exit_code steer_table_open(struct steer_table *s);
void steer_table_close(struct steer_table *s);

/* One of the maps of what is loaded, the caller's to close; -1: it has none such. */
int steer_map(const char *name, __u32 type, __u32 value_size);

/* All of it takes the place of what was there, at once. */
enum exit_code steer_table_put(struct steer_table *s);

#endif /* MPS_STEER_TABLE_H */
