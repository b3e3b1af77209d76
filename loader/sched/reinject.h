/* SPDX-License-Identifier: GPL-2.0 */
/*
 * `use default --reinject`: early copies for the connections that the kernel's
 * own scheduler serves (bpf/reinject.bpf.c), in namespaces that opted in. One
 * program serves all of them; it is attached while there is one, by a link
 * pinned at REINJECT_PIN. Everything else hangs on that link: its program knows
 * the map, the map's keys are the namespaces.
 */
#ifndef MPS_REINJECT_CMD_H
#define MPS_REINJECT_CMD_H

#include <stdbool.h>
#include "cli/error.h"
#include "kernel/netns.h"
#include "kernel/pin.h"
#include "kernel/registry.h"
#include "common/reinject.h"

/* No scheduler can have a name that begins like this. */
#define REINJECT_PIN PIN_DIR "/@reinject"

/* Opted in already? Then *was_on, and nothing changes. Else all is undone on failure. */
enum exit_code reinject_on(const struct netns *ns, bool *was_on);

/*
 * Also forgets namespaces that are gone. When none is left the program goes.
 * True where this namespace had opted in.
 */
bool reinject_off(const struct netns *ns);

/* Detaches it, whoever opted in. False where it is not there. */
bool reinject_remove(enum exit_code *ret);

/* To read it: a descriptor of the map, or a negative errno. */
int reinject_map(void);
/* The same by the clocks, for those who may not look into PIN_DIR. */
int reinject_find_map(const struct registry *r);
/* Its namespace's counters; false where it has not opted in. */
bool reinject_read(int map, const struct netns *ns, struct mps_reinject_ns *value);

#endif /* MPS_REINJECT_CMD_H */
