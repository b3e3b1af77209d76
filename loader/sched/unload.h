/* SPDX-License-Identifier: GPL-2.0 */
/* Unloading: a scheduler is unregistered, and its pins are removed. */
#ifndef MPS_UNLOAD_H
#define MPS_UNLOAD_H

#include <stdbool.h>
#include "cli/error.h"

/* force: although a namespace still selects it. */
enum exit_code unload_sched(const char *name, bool force);

/* All that are pinned, and what `use default --reinject` has attached. */
enum exit_code unload_all(bool force);

#endif /* MPS_UNLOAD_H */
