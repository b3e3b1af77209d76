/* SPDX-License-Identifier: GPL-2.0 */
#ifndef MPS_SIGNALS_H
#define MPS_SIGNALS_H

/* A descriptor that is readable once SIGTERM or SIGINT has come; -1 with errno. */
int signals_open(void);

#endif /* MPS_SIGNALS_H */
