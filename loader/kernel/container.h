/* SPDX-License-Identifier: GPL-2.0 */
/* The namespace that --netns or --container means. */
#ifndef MPS_CONTAINER_H
#define MPS_CONTAINER_H

#include "cli/args.h"
#include "kernel/netns.h"

/* The one that we are in where neither is given. */
enum exit_code target_resolve(struct netns *ns, const struct args *args);

/*
 * A container by its name or id, as the commands of the runtimes that are
 * installed know it; RUNTIME:NAME asks one of them alone.
 */
enum exit_code container_resolve(struct netns *ns, const char *text);

#endif /* MPS_CONTAINER_H */
