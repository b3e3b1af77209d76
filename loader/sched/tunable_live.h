/* SPDX-License-Identifier: GPL-2.0 */
/* The tunables of a scheduler that the kernel has loaded, whoever loaded it. */
#ifndef MPS_TUNABLE_LIVE_H
#define MPS_TUNABLE_LIVE_H

#include <linux/types.h>
#include "kernel/registry.h"
#include "sched/tunable_table.h"

struct tunable_live {
	const char *name;
	struct btf *btf;
	struct tunable_table tunables;
	struct {
		int map; /* -1: it has none */
		size_t size;
	} section[NR_TUNABLE_SECTIONS];
};

/* The caller closes it in any case. */
enum exit_code tunable_live_open(struct tunable_live *l, const char *name);
/* Of one that the registry has found. */
enum exit_code tunable_live_open_sched(struct tunable_live *l, const struct sched *s);
void tunable_live_close(struct tunable_live *l);

/* 0 or a negative errno. */
int tunable_live_value(const struct tunable_live *l, const struct tunable *t, __u32 *value);

/* Fails where it is fixed. */
enum exit_code tunable_live_check(const struct tunable_live *l, const struct tunable *t);
/* In one store: a decision finds the old value or the new one. */
enum exit_code tunable_live_set(const struct tunable_live *l, const struct tunable *t, __u32 value);

#endif /* MPS_TUNABLE_LIVE_H */
