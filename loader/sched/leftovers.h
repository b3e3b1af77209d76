/* SPDX-License-Identifier: GPL-2.0 */
/* What a `load` that was ended in its midst has left: pins of programs without their scheduler. */
#ifndef MPS_LEFTOVERS_H
#define MPS_LEFTOVERS_H

#include <stdbool.h>
#include "kernel/registry.h"

/* Names of schedulers whose programs are pinned while they are not registered; how many. */
unsigned int leftovers(struct registry *r, char (*names)[MPS_NAME_LEN], unsigned int max);

/* Says so of each, with what removes it. */
void leftovers_note(struct registry *r);

/*
 * Removes them of one that is about to be loaded. The caller has the lock, so nobody is between
 * two pins of it.
 */
void leftovers_remove(const char *name);

#endif /* MPS_LEFTOVERS_H */
