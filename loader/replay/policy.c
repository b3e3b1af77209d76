// SPDX-License-Identifier: GPL-2.0
/*
 * One scheduler, SOURCE, for user space. Its file is taken as it is. Of what its macros would make
 * of it for the kernel only the decisions are left, and the tunables in a table; the compiler and
 * the linker drop all else, which calls the kernel.
 *
 * -DNAME=ecf -DSOURCE='"schedulers/ecf.bpf.c"', and those of loader.mk.
 */
#include "frame/choose.h"
#include "replay/policy.h"

#define GLUED(a, b) a##b
#define GLUE(a, b) GLUED(a, b)
#define TEXT_OF(a) #a
#define TEXT(a) TEXT_OF(a)

/* Of this scheduler alone: the linker joins sections of one name. */
#define TABLE TEXT(GLUE(replay_tunables_, NAME))
extern const struct replay_tunable GLUE(__start_replay_tunables_, NAME)[];
extern const struct replay_tunable GLUE(__stop_replay_tunables_, NAME)[];

#undef MPS_TUNABLE
#define MPS_TUNABLE(name, def, min, max, scale, text)                 \
	volatile __u32 name = def;                                    \
	static const struct replay_tunable name##_row __attribute__(( \
		section(TABLE), used, retain)) = { #name, &name, def, min, max, scale }
/* What the verifier would take for granted the compiler must not. */
#undef MPS_TUNABLE_FIXED
#define MPS_TUNABLE_FIXED(name, def, min, max, scale, text)                                  \
	static volatile __u32 name##_value = def;                                            \
	extern const volatile __u32 name __attribute__((alias(#name "_value")));             \
	static const struct replay_tunable name##_row                                        \
		__attribute__((section(TABLE), used, retain)) = { #name, &name##_value, def, \
								  min,	 max,		scale }

/* those files have their own */
#undef MPS_CHOICE_BYTES
#undef MPS_CHOICE_SEGMENT
#undef MPS_POLICY
#define MPS_POLICY(id, ...)                                                       \
	static const struct mps_policy id##_policy = { __VA_ARGS__ };             \
	static __u64 id##_decide(const struct mps_conn *c, struct mps_priv *priv) \
	{                                                                         \
		return mps_decide(c, (void *)priv, &id##_policy);                 \
	}                                                                         \
	static __u64 id##_copies(const struct mps_conn *c, struct mps_priv *priv) \
	{                                                                         \
		return mps_copies(c, (void *)priv, &id##_policy);                 \
	}

static void set_form(bool get_subflow)
{
	mps_passes_seen = get_subflow ? -MPS_PASSES_ENDED : 0;
}

#define POLICY_ROW(id, n, policy) { #policy, policy##_decide, policy##_copies },
#define SCHEDULER(id, ...)                                                                        \
	static const struct replay_policy policies[] = { MPS_EACH(POLICY_ROW, id, __VA_ARGS__) }; \
	const struct replay_sched GLUE(replay_, NAME) = {                                         \
		.name = #id,                                                                      \
		.tunable = GLUE(__start_replay_tunables_, NAME),                                  \
		.tunables_end = GLUE(__stop_replay_tunables_, NAME),                              \
		.policy = policies,                                                               \
		.nr_policies = sizeof(policies) / sizeof(policies[0]),                            \
		.set_form = set_form,                                                             \
	}

#undef MPS_SCHEDULER
#define MPS_SCHEDULER(id, text, policy) SCHEDULER(id, policy)
#undef MPS_SCHEDULER_MEASURES
#define MPS_SCHEDULER_MEASURES(id, text, policy, tags) SCHEDULER(id, policy)
#undef MPS_SCHEDULER_CHOOSES
#define MPS_SCHEDULER_CHOOSES(id, text, tags, choose, ...) SCHEDULER(id, __VA_ARGS__)

#include SOURCE
