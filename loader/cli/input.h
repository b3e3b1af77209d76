/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files that somebody names: only regular ones, since others hang whoever opens or reads them, and
 * only so much of them as makes sense.
 */
#ifndef MPS_INPUT_H
#define MPS_INPUT_H

#include <stddef.h>
#include <sys/types.h>
#include "cli/error.h"

#define MIB (1UL << 20)

#define INPUT_CONFIG (1 * MIB)
#define INPUT_STATE (4 * MIB)  /* of a container, by the OCI runtime specification */
#define INPUT_ANSWER (4 * MIB) /* of a container runtime's command */
#define INPUT_OBJECT (64 * MIB)

/* All of a file that is regular and no larger than limit. The caller frees *text, NUL added. */
enum exit_code input_file(const char *path, const char *hint, size_t limit, char **text,
			  size_t *len);

/* The same from what is open, whatever it is. */
enum exit_code input_read(const char *hint, int fd, size_t limit, char **text, size_t *len);

/* "a FIFO" */
const char *file_kind(mode_t mode);

#endif /* MPS_INPUT_H */
