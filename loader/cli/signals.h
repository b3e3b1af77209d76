/* SPDX-License-Identifier: GPL-2.0 */
#ifndef MPS_SIGNALS_H
#define MPS_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* Asked for, as by nohup, or as a shell does it for what runs in the background. */
bool signal_is_ignored(int number);

/*
 * A descriptor that is readable once SIGTERM or SIGINT has come, or SIGHUP or SIGQUIT where they
 * are not ignored; -1 with errno.
 */
int signals_open(void);

/*
 * Between two steps of which one without the other would stay for good: what would end the process
 * waits. SIGKILL does not, see leftovers.h.
 */
void signals_hold(sigset_t *before);
void signals_let(const sigset_t *before);

#endif /* MPS_SIGNALS_H */
