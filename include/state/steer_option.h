/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Steering by the application: a socket option names the mode of its connection, in front of all
 * rules. The kernel knows no such option: programs of a cgroup answer for it (loader/bpf/), and
 * what was asked for is kept with the socket, where bpf_steer finds it.
 */
#ifndef MPS_STEER_OPTION_H
#define MPS_STEER_OPTION_H

#include "state/steer.h"

/* At level SOL_MPTCP, 284. The kernel's own are small numbers. */
#define MPS_STEER_OPTION 0x4d53

/* A mode's name with its NUL; a longer value is cut off there, as that of TCP_CONGESTION is. */
#define MPS_STEER_OPTION_LEN 16

/* Name of the socket-storage map, with the layout's version. */
#define MPS_STEER_WISH_MAP "mps_wish_v1"

/* Accepted sockets have their listener's. */
struct mps_steer_wish {
	__u32 mode; /* from 1 on: enum mps_steer_mode; 0: the rules say which */
};

/* As an option's value is: padded with zeroes. */
struct mps_steer_mode_name {
	union {
		char text[MPS_STEER_OPTION_LEN];
		__u64 word[MPS_STEER_OPTION_LEN / 8];
	};
};

/* mps_steer_wish.mode by name; "": 0; MPS_NR_STEER_MODES + 1: there is none of that name. */
static __always_inline __u32 mps_steer_wish_of(const struct mps_steer_mode_name *names,
					       const struct mps_steer_mode_name *name)
{
	__u32 i, found = MPS_NR_STEER_MODES + 1;

	if (!name->text[0])
		return 0;
	for (i = 0; i < MPS_NR_STEER_MODES; i++)
		if (!((names[i].word[0] ^ name->word[0]) | (names[i].word[1] ^ name->word[1])))
			found = i + 1;
	return found;
}

#endif /* MPS_STEER_OPTION_H */
