/* SPDX-License-Identifier: GPL-2.0 */
/* Recorded decisions once more, by this or by another scheduler, and what is not the same. */
#ifndef MPS_REPLAY_H
#define MPS_REPLAY_H

#include <stdbool.h>
#include "cli/error.h"
#include "replay/policy.h"
#include "trace/recording.h"

/* What was decided, without where and how much: to send, to wait for a reason, copies or none. */
enum replay_class {
	REPLAY_SEND,
	REPLAY_FIRST_WAIT,
	REPLAY_COPY = REPLAY_FIRST_WAIT + MPS_NR_WAIT_REASONS,
	REPLAY_NONE,
	NR_REPLAY_CLASSES
};

/* "send", "wait no_room", ... */
const char *replay_class_name(unsigned int class);

struct replay_state; /* of one connection */

/* A scheduler that decides anew. */
struct candidate {
	const struct replay_sched *sched;
	__u32 *value;	   /* of each tunable */
	const char *words; /* as it was given, or NULL: as recorded */
	unsigned int nth;  /* of those as recorded of its name, from 0 */
	/* Decisions of the same scheduler begin with the state that was recorded. For those of
	 * another one it has state of its own, which begins with the recording.
	 */
	struct replay_state *state;
	unsigned int nr_states;
	__u64 decisions, same;
	/* of those that are not: recorded, instead; on the diagonal: another path, or other bytes
	 */
	__u64 instead[NR_REPLAY_CLASSES][NR_REPLAY_CLASSES];
};

/* The scheduler of that name, as it is in this command; NULL: there is none. */
const struct replay_sched *replay_find(const char *name, size_t len);

/* words: "NAME:TUNABLE=VALUE:..." */
enum exit_code candidate_parse(struct candidate *c, const char *words);
/* settings: "TUNABLE=VALUE TUNABLE=VALUE", of a recording */
enum exit_code candidate_as_recorded(struct candidate *c, const struct replay_sched *sched,
				     const char *settings);
/* Both decide the same of anything. */
bool candidate_equals(const struct candidate *c, const struct candidate *d);
void candidate_free(struct candidate *c);

/* What it says in place of that; counted. True: the same. */
bool candidate_decide(struct candidate *c, const struct recording_function *f,
		      const struct mps_trace_rec *rec, __u64 *answer);

#endif /* MPS_REPLAY_H */
