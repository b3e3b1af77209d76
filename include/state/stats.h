/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters and the layout in which BPF programs keep them and the loader reads
 * them. Each counter is defined once, in the tables below; enum, text and JSON
 * output come from there.
 *
 * All counters are unsigned 64-bit, start at 0 with the connection or the
 * subflow, never fall, and vanish with their socket. An application may use one socket
 * for several connections, one after the other, by connect() with AF_UNSPEC; so do the
 * MPTCP socket and its first subflow's. What is stored is of one of them: mps_is_of().
 */
#ifndef MPS_STATS_H
#define MPS_STATS_H

#include "model/decision.h"
#include "state/ranges.h"

/*
 * Names of the socket-storage maps. They carry the layout's version: change
 * them whenever a struct below changes, so that the loader never reads one
 * layout as another.
 */
#define MPS_CONN_STORAGE mps_conn_v9
#define MPS_SUBFLOW_STORAGE mps_subflow_v9

#define MPS_TEXT_(name) #name
#define MPS_TEXT(name) MPS_TEXT_(name)
#define MPS_CONN_MAP MPS_TEXT(MPS_CONN_STORAGE)
#define MPS_SUBFLOW_MAP MPS_TEXT(MPS_SUBFLOW_STORAGE)

/* X(ID, json_name, description), per connection */
#define MPS_CONN_COUNTERS(X)                                                             \
	X(DECISIONS, decisions, "times the kernel asked where to send")                  \
	X(PICKS, picks, "decisions that chose a subflow")                                \
	X(WND_PROBES, window_probes, "picks made to probe a closed data-level window")   \
	X(RETRANS, retransmissions, "times the oldest data was sent again on a subflow") \
	X(RETRANS_NONE, retrans_none,                                                    \
	  "times nobody sent it again: none was fit, or it was on its way")              \
	X(COPIES, copies, "times the oldest data was copied, without loss")              \
	X(COPIES_NONE, copies_none, "times a copy was looked at and would not have paid")

/* X(ID, json_name, description), per subflow */
#define MPS_SUBFLOW_COUNTERS(X)                                              \
	X(PICKS, picks, "times chosen for new data")                         \
	X(SENT, bytes_sent, "bytes of new data given to it")                 \
	X(RETRANS_PICKS, retrans_picks, "times chosen to send data again")   \
	X(RETRANS, bytes_retrans, "bytes given to it that were sent before") \
	X(COPIES, copy_picks, "times chosen to carry a copy")                \
	X(COPIED, bytes_copied, "bytes given to it that another subflow has")

#define MPS_ENUM_CONN(id, name, text) MPS_C_##id,
#define MPS_ENUM_WAIT(id, name, text) MPS_C_WAIT_##id,
#define MPS_ENUM_SUBFLOW(id, name, text) MPS_S_##id,

/* The reasons to wait of model/decision.h follow, one counter each. */
enum mps_conn_counter {
	MPS_CONN_COUNTERS(MPS_ENUM_CONN) MPS_WAIT_REASONS(MPS_ENUM_WAIT) MPS_NR_CONN_COUNTERS,
	MPS_C_FIRST_WAIT = MPS_NR_CONN_COUNTERS - MPS_NR_WAIT_REASONS
};

enum mps_subflow_counter { MPS_SUBFLOW_COUNTERS(MPS_ENUM_SUBFLOW) MPS_NR_SUBFLOW_COUNTERS };

/*
 * What a scheduler has to tell its user about a connection now, bits of a mask.
 * X(ID, json_name, description)
 */
#define MPS_NOTES(X)                                                                          \
	X(NO_TIMESTAMPS, no_timestamps, "ordered by RTT: a subflow has no TCP timestamps")    \
	X(NO_SAMPLE, no_sample, "ordered by RTT: the delay of a subflow is not measured yet") \
	X(CLOCKS, clocks,                                                                     \
	  "ordered by RTT: timestamps of the subflows do not compare; "                       \
	  "the peer needs net.ipv4.tcp_timestamps=2")                                         \
	X(STANDBY, standby, "a path of a higher rank stands by")                              \
	X(OVERFLOW, overflow, "a path of a higher rank helps: the deadline would be missed")  \
	X(OVER_RTT, over_rtt, "a path is over its RTT threshold")                             \
	X(OVER_CAP, over_cap, "over cap: a path has had all bytes of its period")             \
	X(OVER_LOSS, over_loss, "a path is over its loss threshold")

#define MPS_ENUM_NOTE(id, name, text) MPS_NOTE_##id,
enum mps_note { MPS_NOTES(MPS_ENUM_NOTE) MPS_NR_NOTES };

/* A scheduler's own state of a connection, zeroed at first. */
struct mps_priv {
	__u64 word[5];
	__u32 more;
	__u16 notes;   /* 1 << enum mps_note */
	__u8 policy;   /* whose state this is, of a scheduler that has several */
	__u8 no_tiers; /* flags do not tell which paths carry; then a glance wants room on none */
};
#define MPS_PRIV_BYTES offsetof(struct mps_priv, notes)

/*
 * What the frame remembers of a connection; low halves of sequence numbers. The peer's
 * data-level window: state/peer_window.h. A retransmission pass that may go on to the next
 * fragment: frame/pass.h.
 */
struct mps_memo {
	__u32 wnd_end;	     /* the window, as far as it is granted */
	__u32 segs;	     /* that had come in on all subflows at the last look at them */
	__u32 pass_end;	     /* where the fragment ends that the last pass sent last */
	__u32 pass_due : 24; /* bytes_retrans when all of that fragment will have been sent */
	__u32 pass_more : 1; /* then the core goes on to the next, where it does */
	__u32 pass_over : 1; /* a call came behind the end of its pass */
	__u32 copies : 1;    /* the pass was asked for */
	__u32 timed : 1;     /* the core's timer knows of all that was pushed */
	__u32 glanced : 1;   /* a glance came after the last look (common/glance.h) */
	__u32 doubt : 1;     /* the core's account of the window may be wrong */
	__u32 late : 1;	     /* the last segments came in without a look at each of them */
	__u32 odd : 1;	     /* changes with each look that came after a segment */
};

/* Of MPS_CONN_MAP: what one connection costs. The limit is 544 bytes. */
struct mps_conn_store {
	__u64 counter[MPS_NR_CONN_COUNTERS];
	struct mps_conn snap; /* of the last decision */
	struct mps_priv priv;
	struct mps_memo memo;
};
_Static_assert(sizeof(struct mps_conn_store) <= 544, "state of a connection");

/*
 * Is what is stored of the connection with this token? 0: it is over, and the next one has
 * not begun. A connection in use has one, and no two of a machine have the same.
 */
static __always_inline bool mps_is_of(const struct mps_conn_store *st, __u32 token)
{
	return !token || st->snap.token == token;
}

/* A scheduler's own state of a subflow, zeroed at first. */
struct mps_subflow_priv {
	__u64 word[4];
};

/* Of MPS_SUBFLOW_MAP: what one subflow costs. The limit is 256 bytes. */
struct mps_subflow_store {
	__u64 counter[MPS_NR_SUBFLOW_COUNTERS];
	/* Bytes are settled in the next round: see state/attribution.h, for readers, too. */
	__u32 seq;	  /* of its rel_write_seq, how far it is settled */
	__u32 head;	  /* what was assigned next at that time, low half, ... */
	__u32 sent;	  /* ... and the end of all that was ever assigned */
	__u16 length;	  /* of the fragment that it was chosen to send again, or 0 */
	__u8 account;	  /* the counter that the bytes of the last choice go to */
	__u8 settled : 1; /* seq, head and sent are valid */
	__u8 wnd_new : 1; /* it has just taken over a window, ... */
	__u8 wnd_odd : 1; /* ... when mps_memo.odd was about to be this */
	__u8 as_bkup : 1; /* of bpf_steer: it was a backup when its row was found, ... */
	__u8 lossy : 1;	  /* ... and it is over that one's loss threshold */
	__u8 doubted : 1; /* what it owes may be late, until doubt_end is acknowledged */
	__u8 policy;	  /* mps_priv.policy at the last look */
	__u8 row;	  /* of bpf_steer: MPS_STEER_ROW_*, state/steer.h */
	__u16 penalty;	  /* part of its window that is withheld, of MPS_SHARE */
	__u32 asked_una;  /* low half of snd_una when it last asked for copies */
	__u32 asked_us;	  /* when that was */
	__u32 penalty_us; /* since when that part of its window is withheld */
	__u32 wnd_mark;	  /* of the window that it took over last: state/peer_window.h */
	__u32 wnd_end;	  /* for the ACK clock: mps_window_for_clock() */
	__u32 rate;	  /* mps_path.rate */
	__u32 rate_us;	  /* when that was measured */
	struct mps_ranges ranges;
	__u32 doubt_end; /* the end of all that was assigned when it was doubted: frame/over.h */
	struct mps_subflow_priv priv;
};
_Static_assert(sizeof(struct mps_subflow_store) <= 256, "state of a subflow");

#endif /* MPS_STATS_H */
