/* SPDX-License-Identifier: GPL-2.0 */
/* Schedulers, namespaces and sockets together: who uses what. */
#ifndef MPS_WORLD_H
#define MPS_WORLD_H

#include "netns.h"
#include "out.h"
#include "registry.h"
#include "sockets.h"

struct tally {
	unsigned int connections, listeners;
};

struct world {
	struct registry schedulers;
	struct netns_list namespaces;
	struct sockets sockets;
	struct tally *tally; /* of each namespace, in their order; counted in one pass */
};

/* Needs the privileges CAPS_LOOK; the caller frees it in any case. */
enum exit_code world_read(struct world *w, const char *operation);
void world_free(struct world *w);

/* Labels of the namespaces that select it; returns how many. */
unsigned int world_users(struct world *w, const char *sched, char *labels, size_t size);
/* The same, each at the list's end. */
void out_users(out_t *list, const struct netns_list *l, const char *sched);

/* Listeners of a namespace (0: any) that keep (`is` true) or do not keep it. */
void out_listeners(out_t *list, struct world *w, unsigned long netns, const char *sched, bool is);

#endif /* MPS_WORLD_H */
