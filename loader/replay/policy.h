/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Schedulers of bpf/schedulers in user space: their decisions and their tunables, compiled from the
 * same source (policy.c) and linked into the command.
 */
#ifndef MPS_REPLAY_POLICY_H
#define MPS_REPLAY_POLICY_H

#include "model/decision.h"
#include "state/subflow_state.h"

struct replay_tunable {
	const char *name;
	volatile __u32 *value;
	__u32 def, min, max, scale; /* as MPS_TUNABLE() has them */
};

/* As the functions of the BPF program are; both say what they do of the same arguments. */
struct replay_policy {
	const char *name;
	__u64 (*decide)(const struct mps_conn *c, struct mps_priv *priv);
	__u64 (*copies)(const struct mps_conn *c, struct mps_priv *priv);
};

struct replay_sched {
	const char *name; /* as the kernel knows it */
	const struct replay_tunable *tunable, *tunables_end;
	const struct replay_policy *policy;
	unsigned int nr_policies;
	/* of a kernel that has get_subflow, whose passes end after one fragment */
	void (*set_form)(bool get_subflow);
};

extern const struct replay_sched *const replay_scheds[];
extern const unsigned int nr_replay_scheds;

#endif /* MPS_REPLAY_POLICY_H */
