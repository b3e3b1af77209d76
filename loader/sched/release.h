/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel lets go of a scheduler that was unregistered, some time later. */
#ifndef MPS_RELEASE_H
#define MPS_RELEASE_H

#include "kernel/registry.h"
#include "sched/usage.h"

/* References to the bridge, before it is unregistered; 0: it holds none. */
int release_refs(const struct sched *s);

/*
 * Waits until it is gone, so that what needs that works right behind. Sockets keep the hooks of
 * the scheduler, but not its clock and its other programs.
 */
void release_wait(const struct usage *u, const struct sched *s, bool in_use, int refs_before);

/* Are its programs gone that are no struct_ops? */
bool released_aux_progs(const struct sched *s);

#endif /* MPS_RELEASE_H */
