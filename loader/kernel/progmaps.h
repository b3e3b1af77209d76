/* SPDX-License-Identifier: GPL-2.0 */
/* The maps that a program in the kernel uses, one after the other. */
#ifndef MPS_PROGMAPS_H
#define MPS_PROGMAPS_H

#include <linux/bpf.h>

/* More than any program of ours has. */
#define PROGMAPS_MAX 64

struct progmaps {
	__u32 btf_id; /* of the program's types; 0: none */
	__u32 nr, at;
	__u32 id[PROGMAPS_MAX];
};

/* 0, or a negative errno: no such program any more, or not for us to see. */
int progmaps_open(struct progmaps *m, __u32 prog_id);

/* A descriptor of the next one, the caller's to close, and what it is; -1 after the last. */
int progmaps_next(struct progmaps *m, struct bpf_map_info *info);

#endif /* MPS_PROGMAPS_H */
