/* SPDX-License-Identifier: GPL-2.0 */
/* The bridge module: is it there, does it work, and where it does not, why and what to do. */
#ifndef MPS_BRIDGE_H
#define MPS_BRIDGE_H

#include <stdbool.h>

#define BRIDGE "mptcp_sched_bpf"

struct bridge {
	bool works;
	bool brought;	    /* it was loaded for this, and is still there */
	bool no_permission; /* works is false for that reason */
	char why[1400], todo[400];
};

/*
 * Loads it where it is not there and looks whether the kernel takes from it what it is for. A
 * module that turns out to be of no use is taken out again.
 */
void bridge_bring(struct bridge *b);

/* Takes out again what was brought, once nothing uses it. */
void bridge_take_back(struct bridge *b);

/* Its BTF is there, and the kernel takes from it what it is for. */
bool bridge_works(void);

bool bridge_is_there(void);

/* Would modprobe find it? Needs no privilege, changes nothing and is no promise. */
bool bridge_is_installed(void);

#endif /* MPS_BRIDGE_H */
