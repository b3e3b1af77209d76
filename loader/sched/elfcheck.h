/* SPDX-License-Identifier: GPL-2.0 */
/* An object file, looked at before libbpf reads it. */
#ifndef MPS_ELFCHECK_H
#define MPS_ELFCHECK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Has it numbers that libbpf would take for places far outside of the file? It adds a variable's
 * place and its type's size in 32 bits before it compares with the section (init_struct_ops_maps()
 * of 1.7). What is no ELF file, or has other faults, libbpf says itself.
 */
bool elf_is_damaged(char *elf, size_t len);

#endif /* MPS_ELFCHECK_H */
