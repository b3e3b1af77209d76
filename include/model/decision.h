/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a decision function sees and says: a snapshot of one MPTCP connection
 * and its paths in, one verdict out. No BPF and no kernel types, so that the
 * same source runs in the kernel and under the host's property tests.
 */
#ifndef MPS_PATH_H
#define MPS_PATH_H

#include "model/types.h"

/* The most subflows that a decision looks at; which ones, where there are more: state/seen.h */
#define MPS_MAX_PATHS 8

/*
 * The most bytes that one verdict hands to a subflow: the kernel's
 * MPTCP_SEND_BURST_SIZE (64 KB less the largest header), the burst after
 * which the core asks again in any case.
 */
#define MPS_MAX_BURST 65428

enum mps_path_flag {
	MPS_PATH_ACTIVE = 1 << 0,  /* established, not stale, not closing */
	MPS_PATH_BACKUP = 1 << 1,  /* either end asked to use it as backup only */
	MPS_PATH_LOSS = 1 << 2,	   /* owes something after a timeout, or is quiet: common/quiet.h */
	MPS_PATH_SNDBUF = 1 << 3,  /* its send buffer takes more */
	MPS_PATH_SENDS = 1 << 4,   /* established, not closing; it may be stale */
	MPS_PATH_IDLE = 1 << 5,	   /* TCP has nothing queued and nothing unacknowledged */
	MPS_PATH_CARRIED = 1 << 6, /* get_retrans: it was given data of the fragment */
	MPS_PATH_BEGAN = MPS_PATH_CARRIED, /* get_send: it was given what is in front of the unit */
	MPS_PATH_REPAIRS = 1 << 7,	   /* in fast recovery: a lost segment is sent again */
	MPS_PATH_DROPPED = 1 << 8, /* dropped by the receiver; with CARRIED: what is behind that */
	/* of bpf_thin: */
	MPS_PATH_NO_TS = 1 << 9,  /* has no TCP timestamps */
	MPS_PATH_DELAY = 1 << 10, /* has a one-way delay estimate, the metric */
	MPS_PATH_DUE = 1 << 11,	  /* was not used for so long that its RTT is stale */
};

/* One subflow at the moment of the decision. */
struct mps_path {
	__u32 srtt_us;	/* smoothed RTT in us; 0: no sample yet, so unknown */
	__u32 mdev_us;	/* mean deviation of the RTT in us, without RTO floor */
	__u32 cwnd;	/* segments that may be in flight, at least 1: see state/subflow_state.h */
	__u32 ssthresh; /* slow start ends there, in segments; ~0: never ended before */
	__u32 inflight; /* segments in flight (tcp_packets_in_flight()) */
	__u32 unsent;	/* bytes given to this subflow that TCP has not sent */
	__u32 rate;	/* most that it delivered lately in bytes/s; 0: unknown */
	__u32 metric;	/* what the policy itself measures (.metric), or 0 */
	union {
		__u32 min_rtt_us; /* get_send: the lowest RTT of the last minutes, ~0: unknown */
		__u32 behind; /* get_retrans, CARRIED: bytes that it was given after the fragment */
	};
	__u16 mss;	  /* bytes per segment, at least 1 */
	__u16 flags : 12; /* enum mps_path_flag */
	__u16 stale : 4;  /* retransmission rounds without progress (stale_count), to 15 */
};

/* The connection at the moment of the decision. */
struct mps_conn {
	__u64 pending;	/* k: bytes to assign, those of a subflow given up among them */
	__u64 wnd_left; /* bytes that the peer's data-level window still takes */
	__u64 unacked;	/* bytes assigned and not acknowledged at data level */
	__u32 now_us;	/* time of the decision, low half */
	__u32 token;	/* of the connection; one socket may have several, one after the other */
	/*
	 * get_send: least bytes that one pick hands over, the rest of the head
	 * fragment. get_retrans: bytes of the oldest unacknowledged fragment.
	 */
	__u32 unit;
	__u32 age_us;	/* since a subflow was given that fragment, or its beginning; ~0: unknown */
	__u16 nr_paths; /* valid entries of path[], 0 to MPS_MAX_PATHS */
	__u16 fit;	/* get_send: bytes of the unit that find room: mps_is_available(); else 0 */
	__u32 blocked;	/* times that the window was found full or data was sent again */
	struct mps_path path[MPS_MAX_PATHS];
};

/*
 * Why nothing is sent now. One table: the enum, the counters of
 * state/stats.h and the texts of the loader come from it.
 * X(ID, json_name, description)
 */
#define MPS_WAIT_REASONS(X)                                                           \
	X(NO_SUBFLOW, no_subflow, "no subflow of this connection can carry data")     \
	X(NO_ROOM, no_room, "every usable subflow's window or buffer is full")        \
	X(PEER_WINDOW, peer_window, "the peer's data-level window is full")           \
	X(FASTER, faster, "a faster subflow, now full, will finish earlier")          \
	X(WINDOW, window, "a slow subflow would fill the peer's window for too long") \
	X(TURN, turn, "it is the turn of a subflow that is now full")                 \
	X(COPIES, copies, "copies of earlier data go first")

enum mps_wait {
#define MPS_WAIT_ENUM(id, name, text) MPS_WAIT_##id,
	MPS_WAIT_REASONS(MPS_WAIT_ENUM)
#undef MPS_WAIT_ENUM
		MPS_NR_WAIT_REASONS
};

/* "Path i, this many bytes" or "wait, because ...". */
struct mps_verdict {
	__s32 path;   /* index into path[], or MPS_WAIT */
	__u32 reason; /* enum mps_wait, only with MPS_WAIT */
	__u32 bytes;  /* 1 to MPS_MAX_BURST; 0 only as a zero-window probe */
};

#define MPS_WAIT (-1)

static __always_inline struct mps_verdict mps_wait_for(__u32 reason)
{
	struct mps_verdict v = { .path = MPS_WAIT, .reason = reason, .bytes = 0 };

	return v;
}

/*
 * Bytes that congestion control lets this path take now: the free part of the
 * window less what already waits in the subflow's own queue. The core itself
 * does not test this: a subflow takes data up to its send buffer.
 */
static __always_inline __u64 mps_cwnd_room(const struct mps_path *p)
{
	__u64 free;

	if (p->inflight >= p->cwnd)
		return 0;
	free = (__u64)(p->cwnd - p->inflight) * p->mss;
	return free > p->unsent ? free - p->unsent : 0;
}

static __always_inline bool mps_is_active(const struct mps_path *p)
{
	return p->flags & MPS_PATH_ACTIVE;
}

static __always_inline bool mps_is_backup(const struct mps_path *p)
{
	return p->flags & MPS_PATH_BACKUP;
}

/* Has it yet to deliver data of the fragment, as far as one can tell? */
static __always_inline bool mps_carries(const struct mps_path *p)
{
	return (p->flags & (MPS_PATH_CARRIED | MPS_PATH_DROPPED)) == MPS_PATH_CARRIED;
}

/* Would the core and TCP take more for it, whatever its window? */
static __always_inline bool mps_takes_data(const struct mps_path *p)
{
	const __u32 want = MPS_PATH_ACTIVE | MPS_PATH_SNDBUF;

	return (p->flags & (want | MPS_PATH_LOSS)) == want;
}

/*
 * "Available" of the papers: may send now, a whole segment at least. The core then hands it
 * the whole head fragment, up to 32 KB, and what finds no room waits in the subflow's own
 * queue, on a slow path for long. So there is room for `fit` bytes of it, or an eighth of
 * the window: what is on its way never falls by more than that before the path gets more.
 * Of a burst of several fragments that holds for the first.
 */
#define MPS_FIT_PARTS 8

static __always_inline bool mps_has_room(const struct mps_path *p, __u32 fit)
{
	const __u64 room = mps_cwnd_room(p), window = (__u64)p->cwnd * p->mss;

	return room >= p->mss && (room >= fit || room * MPS_FIT_PARTS >= window);
}

static __always_inline bool mps_is_available(const struct mps_conn *c, const struct mps_path *p)
{
	return mps_takes_data(p) && mps_has_room(p, c->fit);
}

/*
 * Does something that will come back hold this path? Only then is an
 * acknowledgement sure to arrive that ends a wait for it.
 */
static __always_inline bool mps_has_inflight(const struct mps_path *p)
{
	return p->inflight > 0 || p->unsent > 0;
}

/*
 * Backups carry data only when no other subflow is active (RFC 8684, 3.3.8).
 * Returns the value of MPS_PATH_BACKUP that usable paths have, or -1 when no
 * path is active at all.
 */
MPS_FN __s32 mps_usable_tier(const struct mps_conn *c MPS_ARG)
{
	__s32 tier = -1;
	__u32 i;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		if (i >= c->nr_paths)
			break;
		if (!mps_is_active(&c->path[i]))
			continue;
		if (!mps_is_backup(&c->path[i]))
			return 0;
		tier = MPS_PATH_BACKUP;
	}
	return tier;
}

/* tier: what mps_usable_tier() said, and not -1 */
static __always_inline bool mps_is_usable(const struct mps_path *p, __u32 tier)
{
	return (p->flags & (MPS_PATH_ACTIVE | MPS_PATH_BACKUP)) == (MPS_PATH_ACTIVE | tier);
}

/*
 * The verdict "path i": its room, bounded by the peer's window and the burst.
 * A path that is only being measured gets the head fragment and no more.
 */
static __always_inline struct mps_verdict mps_send_on(const struct mps_conn *c, __u32 i)
{
	const struct mps_path *p = &c->path[i & (MPS_MAX_PATHS - 1)];
	struct mps_verdict v = { .path = (__s32)i };
	__u64 bytes = mps_cwnd_room(p);

	if (!p->srtt_us && c->unit && bytes > c->unit)
		bytes = c->unit;
	if (bytes > c->wnd_left)
		bytes = c->wnd_left;
	if (bytes > MPS_MAX_BURST)
		bytes = MPS_MAX_BURST;
	v.bytes = (__u32)bytes;
	return v;
}

/*
 * The peer's data-level window is closed. While data is unacknowledged its
 * acknowledgement will open it; otherwise the core sends a one-byte probe on
 * the subflow that is chosen here (mptcp_check_allowed_size()), whatever its
 * congestion window says, or nobody would ever hear of the opening.
 */
MPS_FN __s32 mps_first_usable(const struct mps_conn *c MPS_ARG)
{
	const __s32 tier = mps_usable_tier(c);
	__u32 i;

	for (i = 0; tier >= 0 && i < MPS_MAX_PATHS; i++) {
		if (i >= c->nr_paths)
			break;
		if (mps_is_usable(&c->path[i], (__u32)tier))
			return (__s32)i;
	}
	return MPS_WAIT;
}

static __always_inline struct mps_verdict mps_window_closed(const struct mps_conn *c)
{
	struct mps_verdict v = mps_wait_for(MPS_WAIT_NO_SUBFLOW);

	if (c->unacked)
		return mps_wait_for(MPS_WAIT_PEER_WINDOW);
	v.path = mps_first_usable(c);
	return v;
}

#endif /* MPS_PATH_H */
