/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Steering: the tables that user space writes and bpf_steer reads, and what it keeps of a
 * connection. Which rule a connection matches, and which row of the table a subflow:
 * policy/match.h. What follows from that: policy/steer.h.
 *
 * Both tables are one value of a map in a map. User space fills a new one and puts it in the place
 * of the old one, so that a reader has the one or the other, and never parts of both.
 */
#ifndef MPS_STEER_H
#define MPS_STEER_H

#include "state/stats.h"
#include "state/steer_account.h"

/* Name of the outer map, with the layout's version: change it with any struct below. */
#define MPS_STEER_MAP "mps_steer_v3"

/* The scheduler that has them. */
#define STEER_SCHEDULER "bpf_steer"

#define MPS_STEER_RULES 1024
#define MPS_STEER_PATHS 64

/*
 * X(ID, "name", policy, description). The policy is one of those of bpf/schedulers/steer.bpf.c.
 * The first one is what a connection without a rule gets.
 */
#define MPS_STEER_MODES(X)                                                                  \
	X(AUTO, "auto", THIN, "as bpf_auto, but the tail is copied only where that pays")   \
	X(STANDBY, "active-standby", RANKS, "the lowest rank that works, and no other")     \
	X(DELAY, "smallest-delay", THIN, "the smallest RTT, kept fresh by probes")          \
	X(BALANCE, "load-balancing", BALANCE, "by weights; by rates where no path has one") \
	X(PRIORITY, "priority", RANKS, "the lowest rank; the next for what is late there")  \
	X(REDUNDANT, "redundant", REDUNDANT, "every byte on every path that has room")      \
	X(MINRTT, "bpf_minrtt", MINRTT, "as the scheduler of that name")                    \
	X(ECF, "bpf_ecf", ECF, "as the scheduler of that name")                             \
	X(BLEST, "bpf_blest", BLEST, "as the scheduler of that name")                       \
	X(CFS, "bpf_cfs", CFS, "as the scheduler of that name")                             \
	X(THIN, "bpf_thin", THIN, "as the scheduler of that name")                          \
	X(REDUNDANT_NAME, "bpf_redundant", REDUNDANT, "as the scheduler of that name")      \
	X(RR, "bpf_rr", RR, "as the scheduler of that name")

#define MPS_STEER_MODE_ENUM(id, name, policy, text) MPS_STEER_##id,
enum mps_steer_mode { MPS_STEER_MODES(MPS_STEER_MODE_ENUM) MPS_NR_STEER_MODES };

/* Local and remote prefix. Each address as one of IPv6, IPv4 mapped into it, in network order. */
struct mps_steer_prefixes {
	__u64 local[2], local_mask[2];
	__u64 remote[2], remote_mask[2];
};

/* What a rule compares with a value as a whole. */
enum mps_steer_word {
	MPS_STEER_NETNS, /* inode */
	MPS_STEER_UID,
	MPS_STEER_MARK,
	MPS_STEER_SO_PRIORITY,
	MPS_STEER_DSCP,
	MPS_NR_STEER_WORDS
};

/* Ancestors of a socket's cgroup by their level below the root, the root being none of them. */
#define MPS_STEER_LEVELS 8

struct mps_steer_rule {
	struct mps_steer_prefixes ends;
	__u64 cgroup; /* id of the cgroup or an ancestor of it; 0: any */
	__u32 word[MPS_NR_STEER_WORDS], mask[MPS_NR_STEER_WORDS]; /* mask 0: any */
	__u16 local_port[2], remote_port[2];			  /* from, to */
	__u32 deadline_us;					  /* MPS_STEER_NO_DEADLINE: none */
	__u8 mode;						  /* enum mps_steer_mode */
	__u8 cgroup_level;
	__u8 budget; /* of copies, in per cent of the new bytes; 0: without bounds */
	__u8 reserved;
};

#define MPS_STEER_NO_DEADLINE (~0U)
#define MPS_STEER_DEADLINE_US 1000000U /* where a rule says none */

/* IFNAMSIZ */
#define MPS_STEER_DEVICE 16
#define MPS_STEER_NAME 16
#define MPS_STEER_ANY_ID (-1)

enum mps_steer_path_flag {
	MPS_STEER_ONLY_BACKUP = 1 << 0, /* matches backups only */
	MPS_STEER_METERED = 1 << 1,	/* behind all that are not, in copies, too */
	MPS_STEER_BLOCK = 1 << 2,	/* over its cap it carries nothing, even as the only one */
};

struct mps_steer_path {
	struct mps_steer_prefixes ends;
	__u64 device[MPS_STEER_DEVICE / 8]; /* name, zero-padded; all 0: any */
	char name[MPS_STEER_NAME];
	__s16 local_id, remote_id; /* MPS_STEER_ANY_ID */
	__u32 rtt_us;		   /* most of a path that gets new data; 0: any */
	__u8 rank;
	__u8 weight; /* MPS_STEER_WEIGHT_MIN to MPS_STEER_WEIGHT_MAX */
	__u8 flags;  /* enum mps_steer_path_flag */
	__u8 loss;   /* most of a path that gets new data, in per cent; 0: any */
	__u8 reserved[4];
	struct mps_steer_account account;
};

#define MPS_STEER_WEIGHT_MIN 1
#define MPS_STEER_WEIGHT_MAX 100
#define MPS_STEER_RANK_MAX 99

struct mps_steer_table {
	__u32 generation; /* of no two tables the same, never 0 */
	__u16 nr_rules;
	__u8 nr_paths;
	__u8 weighted; /* some path has a weight; else load-balancing goes by rates */
	struct mps_steer_path path[MPS_STEER_PATHS];
	struct mps_steer_rule rule[MPS_STEER_RULES];
};

/* Load-balancing goes by rates, as auto does, where no path has a weight. */
static __always_inline __u32 mps_steer_mode_at_work(const struct mps_steer_table *t, __u32 mode)
{
	return mode == MPS_STEER_BALANCE && !t->weighted ? MPS_STEER_AUTO : mode;
}

/* A connection, as rules see it. */
struct mps_steer_key {
	__u64 local[2], remote[2];
	__u64 cgroup[MPS_STEER_LEVELS];
	__u32 word[MPS_NR_STEER_WORDS];
	__u16 local_port, remote_port;
};

/* A subflow, as rows of the paths' table see it. */
struct mps_steer_subflow {
	__u64 local[2], remote[2];
	__u64 device[MPS_STEER_DEVICE / 8];
	__s16 local_id, remote_id;
	__u32 backup;
};

/*
 * What a snapshot says of a path, as its metric: weight, effective rank, which of its thresholds it
 * is over, and whether it is over its cap. 0: no row, so rank 0 and weight 1.
 */
static __always_inline __u32 mps_steer_metric(__u32 rank, __u32 weight, __u32 over_rtt)
{
	return rank | weight << 8 | over_rtt << 16;
}

static __always_inline __u32 mps_steer_rank(const struct mps_path *p)
{
	return p->metric & 0xff;
}

static __always_inline __u32 mps_steer_weight(const struct mps_path *p)
{
	return (p->metric >> 8 & 0xff) ?: 1;
}

static __always_inline __u32 mps_steer_is_over_rtt(const struct mps_path *p)
{
	return p->metric >> 16 & 1;
}

/* Bits of a metric beside those of mps_steer_metric(). */
#define MPS_STEER_OVER_CAP (1U << 17)
#define MPS_STEER_BLOCKED (1U << 18) /* with the other one: it carries nothing at all */
#define MPS_STEER_OVER_LOSS (1U << 19)

static __always_inline __u32 mps_steer_is_over_cap(const struct mps_path *p)
{
	return p->metric >> 17 & 1;
}

static __always_inline __u32 mps_steer_is_over_loss(const struct mps_path *p)
{
	return p->metric >> 19 & 1;
}

/* Not within its thresholds. */
static __always_inline __u32 mps_steer_is_out(const struct mps_path *p)
{
	return mps_steer_is_over_rtt(p) | mps_steer_is_over_loss(p);
}

/* What is kept of a subflow, mps_subflow_store.row. N: row N - 1 */
#define MPS_STEER_ROW_UNKNOWN 0 /* to be looked up */
#define MPS_STEER_ROW_NONE 127
#define MPS_STEER_ROW_OUT 128	 /* a bit beside it: over its RTT threshold, until well below */
#define MPS_STEER_ROW_UNSURE 256 /* a bit beside what is found: not to be kept */
#define MPS_STEER_RANK_METERED 100
#define MPS_STEER_RANK_BACKUP 250 /* a backup that no row matches */

/*
 * What is kept of a connection, at the end of struct mps_priv; what is in front belongs to the
 * policy at work. Zeroed memory is the state of a new connection.
 */
#define MPS_STEER_POLICY_BYTES 24

struct mps_steer_state {
	union {
		struct {
			__u32 since_us; /* priority: when the data at hand began to wait */
			__u32 busy_us;	/* when more was at hand than found room */
		};
		__u32 back_us; /* active-standby: when a lower rank came back; 0: none has */
	};
	/* priority: where the data at hand ended; what is in use: a key, smallest-delay a path */
	__u32 last;
	__u32 generation; /* of the table that the rule is of */
	__u16 rule;	  /* 1 is the first; 0: none */
	__u8 mode;	  /* enum mps_steer_mode */
	union {
		__u8 begun;  /* `last` is set; load-balancing: how many paths there were */
		__u8 budget; /* redundant: the rule's */
	};
};

static __always_inline struct mps_steer_state *mps_steer_state(struct mps_priv *priv)
{
	return (struct mps_steer_state *)((char *)priv + MPS_STEER_POLICY_BYTES);
}
_Static_assert(MPS_STEER_POLICY_BYTES + sizeof(struct mps_steer_state) <= MPS_PRIV_BYTES, "state");

#endif /* MPS_STEER_H */
