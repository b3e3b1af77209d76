/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cgroups whose processes may name a mode of bpf_steer for a socket (state/steer_option.h): two
 * programs each, pinned beside the scheduler, with which they go.
 */
#ifndef MPS_STEER_OPTIONS_H
#define MPS_STEER_OPTIONS_H

#include "sched/steer_table.h"

/* So many cgroups. */
#define STEER_OPTIONS_MAX 16

/* Tables are in place. *had: they could before. */
enum exit_code steer_option_on(const char *cgroup, bool *had);
enum exit_code steer_option_off(const char *cgroup, bool *had);

/* Ids of the cgroups; how many. */
unsigned int steer_options(__u64 *id);

#endif /* MPS_STEER_OPTIONS_H */
