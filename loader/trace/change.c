// SPDX-License-Identifier: GPL-2.0
#include "state/steer.h"
#include "trace/change.h"

#define STATE(id) (1U << CHANGE_##id / 2)
#define HAS_NOTE(notes, id) ((notes) >> MPS_NOTE_##id & 1U)

_Static_assert(CHANGE_PENALTY % 2 == 0 && CHANGE_PAIRS <= 8, "pairs, in a byte");

/* Of bpf_steer these are said of each path. */
#define NOTES_OF_PATHS \
	(1U << MPS_NOTE_OVER_RTT | 1U << MPS_NOTE_OVER_CAP | 1U << MPS_NOTE_OVER_LOSS)

static unsigned int paths_of(const struct mps_conn *c)
{
	return c->nr_paths < MPS_MAX_PATHS ? c->nr_paths : MPS_MAX_PATHS;
}

/* What only bpf_steer says of a path: where it does so, there is a note, and the metric is its. */
static unsigned int steered(const struct mps_path *p, unsigned int notes)
{
	return (HAS_NOTE(notes, OVER_RTT) & mps_steer_is_over_rtt(p)) * STATE(OVER_RTT) |
	       (HAS_NOTE(notes, OVER_LOSS) & mps_steer_is_over_loss(p)) * STATE(OVER_LOSS) |
	       (HAS_NOTE(notes, OVER_CAP) & mps_steer_is_over_cap(p)) * STATE(OVER_CAP);
}

static unsigned int state_of(const struct mps_path *p, unsigned int notes)
{
	const unsigned int more = steered(p, notes);
	const bool blocked = more & STATE(OVER_CAP) && p->metric & MPS_STEER_BLOCKED;
	/* a snapshot has those that can send */
	const bool gone = !mps_is_active(p) && !blocked;

	return more | gone * STATE(GIVEN_UP) | !!(p->flags & MPS_PATH_LOSS) * STATE(QUIET) |
	       mps_is_backup(p) * STATE(STANDS_BY);
}

static unsigned int changes_of_path(unsigned int path, unsigned int before, unsigned int now,
				    struct trace_change *c)
{
	unsigned int i, nr = 0;

	for (i = 0; i < CHANGE_PAIRS; i++)
		if ((before ^ now) >> i & 1)
			c[nr++] = (struct trace_change){ .kind = CHANGED_PATH,
							 .path = path,
							 .what = 2 * i + !(now >> i & 1) };
	return nr;
}

static unsigned int changes_of_notes(unsigned int before, unsigned int now, struct trace_change *c)
{
	const unsigned int differ = (before ^ now) & ~NOTES_OF_PATHS;
	unsigned int i, nr = 0;

	for (i = 0; i < MPS_NR_NOTES; i++)
		if (differ >> i & 1)
			c[nr++] = (struct trace_change){ .kind = CHANGED_NOTE,
							 .what = i,
							 .before = before >> i & 1,
							 .now = now >> i & 1 };
	return nr;
}

static unsigned int look(struct trace_look *last, const struct mps_trace_rec *rec,
			 enum observed what, struct trace_change *c)
{
	const struct mps_conn *conn = &rec->conn;
	const struct trace_look was = *last;
	const unsigned int paths = paths_of(conn);
	/* a backup of copies is another one: policy/steer_key.h */
	const unsigned int unseen = what == OBSERVED_COPIES ? STATE(STANDS_BY) : 0;
	const bool same = was.seen && was.nr_paths == paths;
	unsigned int i, nr = 0;

	last->notes = rec->head.has_state ? rec->priv.notes : was.notes;
	last->nr_paths = (__u8)paths;
	last->seen = true;
	if (!same && was.seen)
		c[nr++] = (struct trace_change){ .kind = CHANGED_NUMBER,
						 .before = was.nr_paths,
						 .now = paths };
	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const unsigned int before = same ? was.path[i] : 0;
		const unsigned int now = i < paths ? state_of(&conn->path[i], last->notes) : 0;

		last->path[i] = (__u8)((now & ~unseen) | (before & unseen));
		if (i < paths)
			nr += changes_of_path(i, before, last->path[i], c + nr);
	}
	return nr + changes_of_notes(was.notes, last->notes, c + nr);
}

/* A byte for each path: mps_penalise_carriers() of bpf/frame/mark.h */
static unsigned int penalties(__u64 answer, struct trace_change *c)
{
	unsigned int i, nr = 0;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const unsigned int withheld = answer >> 8 * i & 0xff;

		if (withheld)
			c[nr++] = (struct trace_change){ .kind = CHANGED_PATH,
							 .path = i,
							 .what = CHANGE_PENALTY,
							 .withheld = withheld };
	}
	return nr;
}

unsigned int trace_changes(struct trace_look *last, const struct mps_trace_head *head,
			   const struct mps_trace_rec *rec, enum observed what,
			   struct trace_change *c)
{
	if (what == OBSERVED_PENALTY)
		return penalties(head->answer, c);
	return rec && last->token == head->token ? look(last, rec, what, c) : 0;
}
