/* SPDX-License-Identifier: GPL-2.0 */
/* The events that `monitor` tells of, and how each is found out. */
#ifndef MPS_MONITOR_H
#define MPS_MONITOR_H

#include "bpf/records.h"
#include "kernel/netns.h"
#include "stats/reader.h"

#define BY_EVENT "event"
#define BY_LOOK "look"

/* X(ID, name, found out by, description) */
#define MONITOR_EVENTS(X)                                                                          \
	X(STARTED, "started", BY_LOOK, "this command; the scheduler that the namespace selects")   \
	X(LOADED, "scheduler-loaded", BY_LOOK, "a scheduler was registered with the kernel")       \
	X(UNLOADED, "scheduler-unloaded", BY_LOOK, "a scheduler is no longer registered")          \
	X(CHOSEN, "scheduler-chosen", BY_LOOK, "the namespace selects another scheduler")          \
	X(OPENED, "connection-opened", BY_EVENT, "an MPTCP connection was made")                   \
	X(CLOSED, "connection-closed", BY_EVENT,                                                   \
	  "a connection was closed, or its application has gone")                                  \
	X(FALLBACK, "connection-fallback", BY_LOOK, "a connection goes on as plain TCP")           \
	X(PATH_OPENED, "path-opened", BY_EVENT, "a further subflow was made")                      \
	X(PATH_CLOSED, "path-closed", BY_EVENT, "a subflow was closed")                            \
	X(STALE, "path-stale", BY_LOOK, "a subflow is given up, it does not answer")               \
	X(RECOVERED, "path-recovered", BY_LOOK, "a subflow that was stale is used again")          \
	X(STANDBY, "standby-chosen", BY_LOOK,                                                      \
	  "in mode active-standby a connection goes on over another rank")                         \
	X(OVER_RTT, "connection-over-rtt", BY_LOOK,                                                \
	  "a subflow of a connection is over its path's RTT threshold")                            \
	X(WITHIN_RTT, "connection-within-rtt", BY_LOOK, "this subflow is not over one any more")   \
	X(OVER_LOSS, "connection-over-loss", BY_LOOK,                                              \
	  "a subflow of a connection is over its path's loss threshold")                           \
	X(WITHIN_LOSS, "connection-within-loss", BY_LOOK, "this subflow is not over one any more") \
	X(OVER_CAP, "path-over-cap", BY_LOOK, "a path of steering has used up its cap")            \
	X(WITHIN_CAP, "path-within-cap", BY_LOOK, "a path of steering is below its cap again")     \
	X(LOST, "events-lost", BY_EVENT, "the kernel had more to tell than could be read")         \
	X(GONE, "netns-gone", BY_LOOK, "nobody else has the namespace any more: this command ends")

#define MONITOR_INTERVAL_S 1

enum monitor_event {
#define MONITOR_ENUM(id, name, by, text) MONITOR_##id,
	MONITOR_EVENTS(MONITOR_ENUM)
#undef MONITOR_ENUM
};

/* One event, told at once: its fields come between. */
void monitor_begin(enum monitor_event event);
void monitor_with(const char *key, const char *value);
void monitor_with_token(__u32 token);
void monitor_with_ends(const struct mps_addr *local, const struct mps_addr *remote);
void monitor_end(void);

/* A namespace that is told of. */
struct monitor_netns {
	struct netns found; /* by a way that others have to it */
	struct netns held;  /* by a descriptor: entered by this, whatever becomes of the other */
	int fd;		    /* -1: none */
};

enum exit_code monitor_netns_open(struct monitor_netns *n, const char *text);
/* False: it has no name and no process any more, so this command alone keeps it. */
bool monitor_netns_lives(struct monitor_netns *n);
void monitor_netns_close(struct monitor_netns *n);

/* A subflow that was over a threshold of its path. */
struct monitor_out {
	__u64 conn;
	__u32 token, id;
	struct mps_addr local, remote;
	unsigned int over;	   /* 1 << enum mps_note */
	char path[MPS_STEER_NAME]; /* its name, which the tables may have no more; "": not known */
};

/* Steering as it was at the last look. Zeroed: there was none. */
struct monitor_steer {
	char over[MPS_STEER_PATHS]
		 [MPS_STEER_NAME]; /* names of the paths that were over their cap */
	unsigned int nr_over;
	struct monitor_out *out;
	unsigned int nr_out;
};

/* What has changed of bpf_steer's connections of that namespace, and of all its paths' caps. */
void monitor_steer_look(struct monitor_steer *m, const struct netns *ns, const struct reading *was,
			const struct reading *now);
void monitor_steer_forget(struct monitor_steer *m);

#endif /* MPS_MONITOR_H */
