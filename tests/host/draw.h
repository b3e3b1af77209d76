/* SPDX-License-Identifier: GPL-2.0 */
/* Random states, in profiles: the ranges that numbers are drawn from. */
#ifndef MPS_TESTS_DRAW_H
#define MPS_TESTS_DRAW_H

#include "host.h"

enum profile { WIDE, REAL, SMALL, EDGE, EQUAL, NR_PROFILES };
extern const char *const profile_name[];

/* The same seed draws the same states. */
void draw_from(__u64 seed);
void draw_case(enum profile profile, struct host_case *q);

#endif /* MPS_TESTS_DRAW_H */
