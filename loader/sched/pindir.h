/* SPDX-License-Identifier: GPL-2.0 */
/* The directory of the pins: can it be used, is it safe, and is it the machine's? */
#ifndef MPS_PINDIR_H
#define MPS_PINDIR_H

#include <stdbool.h>
#include "cli/error.h"
#include "kernel/pin.h"

#define PINS_OUT_OF_SIGHT                                                                \
	"the machine's pins are out of sight: " BPFFS " of this mount namespace is not " \
	"that of process 1, as in `ip netns exec`"
#define HINT_OUTSIDE "run it outside of that, with --netns NAME"

struct trouble {
	char why[400], todo[300];
};

/* May pins be made in it? False: t says why not and what to do. Tells what can be seen. */
bool pindir_usable(struct trouble *t);

/* The same as an error of a command. */
enum exit_code pindir_require(void);

/*
 * `ip netns exec` and its like give a mount namespace without the machine's BPF file system, or
 * with one of its own, which goes with it. False where that cannot be known.
 */
bool pindir_out_of_sight(void);

#endif /* MPS_PINDIR_H */
