/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The schedulers that the kernel has, whoever registered them. Nothing is
 * remembered on disk: the kernel's own ids lead from a struct_ops map to its
 * link, its programs and their maps.
 */
#ifndef MPS_REGISTRY_H
#define MPS_REGISTRY_H

#include <stdbool.h>
#include <linux/types.h>
#include "cli/error.h"
#include "model/types.h"

#define MAX_HOOKS 8
#define MAX_AUX_PROGS 16

/* Whether data may travel twice, by a program that asks for it. */
enum copies {
	COPIES_NONE, /* the object does not ask */
	COPIES_OFF,  /* it would, but is not attached */
	COPIES_ON,
};

struct sched {
	char name[MPS_NAME_LEN];
	bool available;	 /* in net.mptcp.available_schedulers */
	bool registered; /* this map is what stands behind the name */
	bool pinned;	 /* by us, in PIN_DIR */
	__u32 map_id;	 /* 0: not a BPF scheduler */
	__u32 link_id;	 /* 0: registered without a link, or not at all */
	__u32 prog_id[MAX_HOOKS];
	unsigned int nr_progs;
	__u32 btf_id;		       /* of the object, the same for all of its programs */
	__u32 clock;		       /* id of its clock's program, 0: none is registered */
	__u32 aux_prog[MAX_AUX_PROGS]; /* ids of its attached programs that are no struct_ops */
	unsigned int nr_aux_progs;
	__u32 conn_map, subflow_map; /* ids of its statistics maps, 0: it has none */
};

/* A struct_ops map of a clock. */
struct clock {
	__u32 map_id, prog_id;
};

struct registry {
	struct sched *sched;
	unsigned int nr;
	struct clock *clock;
	unsigned int nr_clocks;
	bool complete; /* false: no privilege to look at BPF objects */
};

void registry_read(struct registry *r);
void registry_free(struct registry *r);

/* The one that is registered under this name, or NULL. */
struct sched *registry_find(struct registry *r, const char *name);
/* The one of this map, registered or kept by its connections, or NULL: it is gone. */
struct sched *registry_find_map(struct registry *r, __u32 map_id);

/* Of one that is loaded; the kernel's own and a module's make none. */
enum copies sched_copies(const struct sched *s);
const char *copies_name(enum copies copies);

/* The program of a clock, by the id of its struct_ops map; 0: it is none. */
__u32 clock_program(__u32 map_id);

#endif /* MPS_REGISTRY_H */
