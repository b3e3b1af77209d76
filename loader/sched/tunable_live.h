/* SPDX-License-Identifier: GPL-2.0 */
/* The tunables of a scheduler that the kernel has loaded, whoever loaded it. */
#ifndef MPS_LOADED_H
#define MPS_LOADED_H

#include <linux/types.h>
#include "registry.h"
#include "tunables.h"

struct loaded {
	const char *name;
	struct btf *btf;
	struct tunables tunables;
	struct {
		int map; /* -1: it has none */
		size_t size;
	} section[NR_TUNABLE_SECTIONS];
};

/* The caller closes it in any case. */
enum exit_code loaded_open(struct loaded *l, const char *operation, const char *name);
/* Of one that the registry has found. */
enum exit_code loaded_open_sched(struct loaded *l, const char *operation, const struct sched *s);
void loaded_close(struct loaded *l);

/* 0 or a negative errno. */
int loaded_value(const struct loaded *l, const struct tunable *t, __u32 *value);

/* Fails where it is fixed. */
enum exit_code loaded_check_live(const struct loaded *l, const char *operation,
				 const struct tunable *t);
/* In one store: a decision finds the old value or the new one. */
enum exit_code loaded_set(const struct loaded *l, const char *operation, const struct tunable *t,
			  __u32 value);

#endif /* MPS_LOADED_H */
