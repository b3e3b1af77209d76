/* SPDX-License-Identifier: GPL-2.0 */
/* Reads a BPF iterator to its end. */
#ifndef MPS_ITER_H
#define MPS_ITER_H

#include <stddef.h>

struct bpf_program;

/* The records, *nr of the given size, are the caller's to free; NULL with errno on failure. */
void *iter_read(const struct bpf_program *prog, size_t size, unsigned int *nr);

#endif /* MPS_ITER_H */
