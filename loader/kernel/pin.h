/* SPDX-License-Identifier: GPL-2.0 */
/* Pinned links: what keeps a scheduler when the command has ended. */
#ifndef MPS_PIN_H
#define MPS_PIN_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#define BPFFS "/sys/fs/bpf"
#define PIN_DIR BPFFS "/mptcp-sched"

/* Behind a scheduler's name in the pins of its clock and its other programs (aux_progs.h). */
#define AUX_MARK '@'

/* PIN_DIR/NAME */
void pin_path(const char *name, char *buf, size_t size);
/* Id of the struct_ops link pinned there, 0 if there is none. */
__u32 pin_link_id(const char *path);
bool pin_is_link(const char *path);
bool is_bpffs(const char *path);

#endif /* MPS_PIN_H */
