/* SPDX-License-Identifier: GPL-2.0 */
#ifndef MPS_LINK_HOLDERS_H
#define MPS_LINK_HOLDERS_H

#include <stddef.h>
#include <linux/types.h>

/*
 * What holds a BPF link: pins anywhere in the bpffs, and processes with a
 * descriptor of it. "" where nothing is found.
 */
void link_holders(__u32 link_id, char *buf, size_t size);

#endif /* MPS_LINK_HOLDERS_H */
