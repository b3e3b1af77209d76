/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One command changes things at a time: pins, what is registered, and what is
 * selected belong together, and a command looks at them before it changes them.
 * Those that only read take no lock.
 */
#ifndef MPS_LOCK_H
#define MPS_LOCK_H

#include "cli/error.h"

#define LOCK_DIR "/run/mptcp-sched"
#define LOCK_FILE LOCK_DIR "/lock"
#define LOCK_SECONDS 10

/* Held until this process ends, however it does. Waits for so long; then says who holds it. */
enum exit_code lock_take(double seconds);

#endif /* MPS_LOCK_H */
