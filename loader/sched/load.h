/* SPDX-License-Identifier: GPL-2.0 */
/* Loading a scheduler: it is registered with the kernel, and pinned. */
#ifndef MPS_LOAD_H
#define MPS_LOAD_H

#include "cli/error.h"

/* Of its tunables: "NAME=VALUE" each. */
struct settings {
	const char *const *word;
	unsigned int nr;
};

/*
 * One that comes with the command, or the one in a file. On failure nothing
 * stays behind. name takes what it is registered as.
 */
enum exit_code load_sched(const char *what, const struct settings *settings, char *name);
/*
 * The same in the place of the one that is registered by its name, which goes when the kernel has
 * taken the new one's programs, not before.
 */
enum exit_code reload_sched(const char *what, const struct settings *settings);

#endif /* MPS_LOAD_H */
