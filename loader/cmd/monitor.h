/* SPDX-License-Identifier: GPL-2.0 */
/* The events that `monitor` tells of, and how each is found out. */
#ifndef MPS_MONITOR_H
#define MPS_MONITOR_H

#define BY_EVENT "event"
#define BY_LOOK "look"

/* X(ID, name, found out by, description) */
#define MONITOR_EVENTS(X)                                                                        \
	X(STARTED, "started", BY_LOOK, "this command; the scheduler that the namespace selects") \
	X(LOADED, "scheduler-loaded", BY_LOOK, "one more is registered with the kernel")         \
	X(UNLOADED, "scheduler-unloaded", BY_LOOK, "one is no longer registered")                \
	X(CHOSEN, "scheduler-chosen", BY_LOOK, "the namespace selects another one")              \
	X(OPENED, "connection-opened", BY_EVENT, "an MPTCP connection was made")                 \
	X(CLOSED, "connection-closed", BY_EVENT, "one was closed, or its application has gone")  \
	X(FALLBACK, "connection-fallback", BY_LOOK, "one goes on as plain TCP")                  \
	X(PATH_OPENED, "path-opened", BY_EVENT, "a further subflow was made")                    \
	X(PATH_CLOSED, "path-closed", BY_EVENT, "a subflow was closed")                          \
	X(STALE, "path-stale", BY_LOOK, "a subflow is given up, it does not answer")             \
	X(RECOVERED, "path-recovered", BY_LOOK, "a subflow that was stale is used again")        \
	X(LOST, "events-lost", BY_EVENT, "the kernel had more to tell than could be read")

#define MONITOR_INTERVAL_S 1

enum monitor_event {
#define MONITOR_ENUM(id, name, by, text) MONITOR_##id,
	MONITOR_EVENTS(MONITOR_ENUM)
#undef MONITOR_ENUM
};

#endif /* MPS_MONITOR_H */
