/* SPDX-License-Identifier: GPL-2.0 */
#ifndef MPS_LISTEN_H
#define MPS_LISTEN_H

#include <stddef.h>
#include "cli/error.h"

/*
 * A listening socket for ADDR:PORT, [ADDR]:PORT, :PORT (all addresses) or unix:PATH. where takes
 * the address as it came out, with the port that the kernel chose for 0.
 */
enum exit_code listen_at(const char *text, int *fd, char *where, size_t size);

/* The file of a unix: address goes. */
void listen_done(const char *text);

#endif /* MPS_LISTEN_H */
