/* SPDX-License-Identifier: GPL-2.0 */
/* Selecting a scheduler in a network namespace, whoever asks for it. */
#ifndef MPS_SELECT_H
#define MPS_SELECT_H

#include <stdbool.h>
#include "kernel/netns.h"
#include "sched/load.h"

/*
 * Makes the scheduler known to the kernel: one that comes with the command is
 * loaded, with these settings, where it is not; others must be there.
 */
enum exit_code select_prepare(const char *name, const struct settings *settings, bool *loaded);

/* May early copies be asked for with it? */
enum exit_code select_check_reinject(const char *name);

struct selected {
	char before[MPS_NAME_LEN];
	bool was_on; /* early copies, before */
	bool gone;   /* the namespace ended meanwhile, which is no error of anybody */
};

/*
 * Selects it, with early copies or without; nothing has changed where that
 * fails. What there is to say of a namespace that is gone is the caller's.
 */
enum exit_code select_in(const struct netns *ns, const char *name, bool reinject,
			 struct selected *done);

#endif /* MPS_SELECT_H */
