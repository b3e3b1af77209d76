/* SPDX-License-Identifier: GPL-2.0 */
/* Schedulers, namespaces and sockets together: who uses what. */
#ifndef MPS_USAGE_H
#define MPS_USAGE_H

#include "cli/output.h"
#include "kernel/netns.h"
#include "kernel/registry.h"
#include "kernel/sockets.h"

struct tally {
	unsigned int connections, listeners;
};

struct usage {
	struct registry schedulers;
	struct netns_list namespaces;
	struct sockets sockets;
	struct tally *tally; /* of each namespace, in their order; counted in one pass */
};

/* Needs the privileges CAPS_LOOK; the caller frees it in any case. */
enum exit_code usage_read(struct usage *u);
void usage_free(struct usage *u);

/* Labels of the namespaces that select it; returns how many. */
unsigned int usage_selected_in(struct usage *u, const char *sched, char *labels, size_t size);
/* The same, each at the list's end. */
void output_users(output_t *list, const struct netns_list *l, const char *sched);

/* Listeners of a namespace (0: any) that keep (`is` true) or do not keep it. */
void output_listeners(output_t *list, struct usage *u, unsigned long netns, const char *sched,
		      bool is);

#endif /* MPS_USAGE_H */
