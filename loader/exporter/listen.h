/* SPDX-License-Identifier: GPL-2.0 */
#ifndef MPS_LISTEN_H
#define MPS_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include "cli/error.h"

/*
 * A listening socket for ADDR:PORT, [ADDR]:PORT, :PORT (all addresses) or unix:PATH. where takes
 * the address as it came out, with the port that the kernel chose for 0. group: whose members may
 * connect to unix:PATH besides its owner; NULL: nobody.
 */
enum exit_code listen_at(const char *text, const char *group, int *fd, char *where, size_t size);

/* A socket that other users' programs find by its path, and browsers not at all. */
bool listen_is_unix(const char *text);

/* The file of a unix: address goes. */
void listen_done(const char *text);

#endif /* MPS_LISTEN_H */
