/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whose bytes are those that a subflow took since the last round? The core does
 * not say. Mostly they are what the subflow was chosen for, but not always: a
 * retransmission that finds a subflow chosen for new data, and not used yet,
 * goes there without asking (mptcp_sched_get_retrans(), net/mptcp/sched.c), and
 * a delayed push sends new data where the choice was used up before
 * (__mptcp_subflow_push_pending(), net/mptcp/protocol.c). So two things that
 * move are compared: how much the subflow took, and how far the connection's
 * head, what is assigned next, went on. Bytes without either are ones that had
 * been sent before, the oldest ones. What is new is known besides, by the end of
 * all that was ever assigned: each such byte is counted once, whoever took it.
 */
#ifndef MPS_SETTLE_H
#define MPS_SETTLE_H

#include "state/seen.h"
#include "state/stats.h"

/* One pass over the subflows: low halves of sequence numbers and of the time. */
struct mps_round {
	__u32 now_us;
	__u32 una;	 /* oldest unacknowledged data */
	__u32 head;	 /* what is assigned next */
	__u32 sent;	 /* the end of all that was ever assigned */
	__u32 frag;	 /* get_retrans: the fragment in question, or what is left of it, ... */
	__u32 frag_end;	 /* ... and its end as far as it was sent; in get_send no byte */
	__u32 found;	 /* bytes of the head's way that subflows were found to have taken, ... */
	__u32 found_new; /* ... and bytes that were assigned for the first time */
	__u32 late_us;	 /* what is settled now was given that long ago */
	__u32 quiet;	 /* a mask of paths: common/quiet.h */
	__u32 sndbuf;	 /* get_send: the chosen subflow's share of the send buffer; 0: as it is */
	bool begun;	 /* get_send: what is in front of the head is of the same fragment */
	bool unsure;	 /* the window is shut, as far as is known; in a moment it may be open */
	struct mps_seen seen; /* which subflows became paths */
};

/* What a subflow took, in bytes. */
struct mps_taken {
	__u32 fresh;  /* from the head, ... */
	__u32 from;   /* ... beginning here, ... */
	__u32 to;     /* ... and ending here at the latest; other subflows may have taken some */
	__u32 chosen; /* of the fragment that it was chosen to send again */
	__u32 oldest; /* of the oldest data, without having been chosen for it */
};

/* New bytes since the last round that no subflow was found to have taken yet. */
static __always_inline __u32 mps_new_left(const struct mps_subflow_store *s,
					  const struct mps_round *r)
{
	const __u32 left = r->sent - s->sent;

	return left - (left < r->found_new ? left : r->found_new);
}

/*
 * Of bytes that a subflow took, without having been chosen for them, those that were assigned for
 * the first time. One choice may be of old and of new data: the core fills a packet with what
 * follows. But how many are new in all is known.
 */
static __always_inline __u32 mps_taken_new(const struct mps_subflow_store *s, struct mps_round *r,
					   __u32 bytes)
{
	const __u32 left = mps_new_left(s, r), taken = bytes < left ? bytes : left;

	r->found_new += taken;
	return taken;
}

/*
 * Of so many bytes, those of the fragment that it was chosen to send again. None if they are fewer
 * and so many are new: it had no room for that, and a delayed push came when it did.
 */
static __always_inline __u32 mps_taken_chosen(const struct mps_subflow_store *s,
					      const struct mps_round *r, __u32 moved)
{
	if (moved >= s->length)
		return s->length;
	return moved && moved <= mps_new_left(s, r) ? 0 : moved;
}

/*
 * The end of all that was ever assigned. With checksums a copy takes along what of its fragment was
 * not, and leaves snd_nxt as it is until the core goes on (__mptcp_retrans()).
 */
static __always_inline __u32 mps_assigned_end(__u32 snd_nxt, __u32 head)
{
	return mps_before(snd_nxt, head) ? head : snd_nxt;
}

/*
 * seq: the subflow's rel_write_seq. It has to be read before what is in the round, or bytes
 * that are just being pushed would look like ones sent before. It begins at 1 when the subflow
 * is established, and is 0 before that and once the subflow is closed: then nothing is settled.
 */
static __always_inline struct mps_taken mps_settle(struct mps_subflow_store *s, struct mps_round *r,
						   __u32 seq)
{
	struct mps_taken t = { .from = s->head, .to = r->head };
	__u32 moved = s->settled ? seq - s->seq : 0, way, first;

	if (!seq)
		return t;
	/* the core went back behind it, after a subflow was given up */
	if (mps_before(r->head, s->head))
		t.to = r->sent;
	t.chosen = mps_taken_chosen(s, r, moved);
	moved -= t.chosen;
	way = t.to - t.from;
	way -= way < r->found ? way : r->found;
	t.fresh = moved < way ? moved : way;
	t.oldest = moved - t.fresh;
	r->found += t.fresh;
	first = mps_taken_new(s, r, moved);

	if (s->account == MPS_S_COPIED)
		s->counter[MPS_S_COPIED] += t.chosen;
	else
		s->counter[MPS_S_RETRANS] += t.chosen;
	s->counter[MPS_S_SENT] += first;
	s->counter[MPS_S_RETRANS] += moved - first;

	s->seq = seq;
	s->head = r->head;
	s->sent = r->sent;
	s->length = 0;
	s->settled = 1;
	return t;
}

#endif /* MPS_SETTLE_H */
