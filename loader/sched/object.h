/* SPDX-License-Identifier: GPL-2.0 */
/* A scheduler's BPF object before it is loaded: ours or a user's file. */
#ifndef MPS_OBJECT_H
#define MPS_OBJECT_H

#include "sched/builtin.h"
#include "sched/tunable_table.h"

struct bpf_object;
struct bpf_map;

struct object {
	const char *what; /* as the user called it, for errors */
	struct bpf_object *bpf;
	struct bpf_map *ops;	 /* its struct mptcp_sched_ops */
	struct bpf_map *clock;	 /* its struct mptcp_sched_clock, or NULL */
	char name[MPS_NAME_LEN]; /* under which it will be registered */
	const char *about;	 /* "" where it says nothing */
	struct tunable_table tunables;
	bool asks;   /* for copies: it refers to the kfunc for that */
	bool silent; /* what would ask is switched off by a tunable */
};

/* On success the caller closes it. A file is checked for the kernel's form. */
enum exit_code object_open_builtin(struct object *o, const struct builtin *b, enum form form);
enum exit_code object_open_file(struct object *o, const char *path, enum form form);
void object_close(struct object *o);

/* "NAME=VALUE" */
enum exit_code object_set(struct object *o, const char *setting);
/* With which it will be loaded. */
__u32 object_value(const struct object *o, const struct tunable *t);

#endif /* MPS_OBJECT_H */
