/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs of bpf/trace.bpf.c at the functions of schedulers' programs by which they decide. They
 * are attached by links that nothing but this process holds, so they go with it, however it ends.
 */
#ifndef MPS_OBSERVER_H
#define MPS_OBSERVER_H

#include <stdbool.h>
#include "bpf/trace.h"
#include "cli/error.h"

/*
 * X(ID, the function's name or its end, of its first argument, how many it has). The last one is no
 * decision, and not in a recording.
 */
#define OBSERVED(X)                              \
	X(DECIDE, "_decide", "mps_conn", 2)      \
	X(COPIES, "_copies", "mps_conn", 2)      \
	X(GLANCE, "mps_glance", "mptcp_sock", 2) \
	X(PENALTY, "mps_penalise_carriers", "mptcp_sock", 3)

enum observed {
#define OBSERVED_ENUM(id, name, about, args) OBSERVED_##id,
	OBSERVED(OBSERVED_ENUM)
#undef OBSERVED_ENUM
		NR_OBSERVED
};

/* 0: any */
struct observer_filter {
	__u32 token, netns, port;
	__u32 one_in;		/* 0 and 1: all */
	bool top;		/* only connections that observers_want() named */
	unsigned int leave_out; /* 1 << enum observed, of what is not looked at */
};

#define POLICY_LEN 64

/* One function of one program. Its index is the cookie, so it stays when it is detached. */
struct observer {
	__u32 sched; /* index of struct observers */
	enum observed what;
	char policy[POLICY_LEN]; /* "" of a glance */
	int prog[2], link[2];	 /* before and behind it, -1: none */
};

/* A scheduler that was found, whether it can be observed or not. */
struct observed_sched {
	__u32 map_id;
	char name[MPS_NAME_LEN];
	unsigned int policies; /* 0: it is not observed */
	char why[300];	       /* then, ... */
	int err;	       /* ... with an errno where the kernel said no, or 0 */
	bool here;	       /* still there at the last look */
	bool told_gone;
};

struct trace; /* the skeleton of bpf/trace.bpf.c */

struct observers {
	struct trace *skel;
	struct observer *at;
	unsigned int nr;
	struct observed_sched *sched;
	unsigned int nr_scheds;
	__u64 missed; /* of observers that are detached */
	unsigned int leave_out;
};

/* What observers_look() has to tell of a scheduler. */
enum observer_news { OBSERVER_ATTACHED, OBSERVER_REFUSED, OBSERVER_GONE };
typedef void (*observer_tell_t)(enum observer_news news, const struct observed_sched *s);

/* Loads nothing into the kernel but the maps. The caller closes it in any case. */
enum exit_code observers_open(struct observers *o, const struct observer_filter *f);
/*
 * Attaches to schedulers that came since the last look, and lets go of those that went. tell: of
 * each of them; NULL: of none.
 */
void observers_look(struct observers *o, observer_tell_t tell);
/* A connection is among the busiest, or no more. */
void observers_want(const struct observers *o, __u32 token, bool wanted);
/* What helps against this errno, or NULL. */
const char *observers_hint(int err);
/* Are there any? */
bool observers_any(const struct observers *o);
int observers_ring(const struct observers *o);
/* seen, and those lost: for want of room, or since another one was being looked at on the CPU. */
void observers_count(const struct observers *o, __u64 *seen, __u64 *lost);
void observers_detach(struct observers *o);
void observers_close(struct observers *o);

#endif /* MPS_OBSERVER_H */
