/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The words of rules and paths, one table each: what the command takes, prints, saves, explains and
 * completes comes from them. A row is written as FIELD VALUE pairs.
 */
#ifndef MPS_STEER_FIELDS_H
#define MPS_STEER_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include "cli/error.h"
#include "sched/steer_values.h"
#include "state/steer.h"

#define STEER_TEXT 300	/* of one value */
#define STEER_LINE 1200 /* of one row */

/*
 * X(ID, name, value, text, how JSON has it, one or two members that hold it). ID: also the key in
 * JSON. value "": the field stands for itself.
 */
#define STEER_RULE_MATCHES(X)                                                                    \
	X(local, "local", "PREFIX", "this end's address", TEXT, ends.local, ends.local_mask)     \
	X(local_port, "local-port", "PORT[-PORT]", "this end's port", PAIR, local_port[0],       \
	  local_port[1])                                                                         \
	X(remote, "remote", "PREFIX", "the peer's address", TEXT, ends.remote, ends.remote_mask) \
	X(remote_port, "remote-port", "PORT[-PORT]", "the peer's port", PAIR, remote_port[0],    \
	  remote_port[1])                                                                        \
	X(dscp, "dscp", "NAME|NUMBER", "of the socket, IP_TOS", NUMBER, word[MPS_STEER_DSCP],    \
	  mask[MPS_STEER_DSCP])                                                                  \
	X(mark, "mark", "MARK[/MASK]", "of the socket, SO_MARK", PAIR, word[MPS_STEER_MARK],     \
	  mask[MPS_STEER_MARK])                                                                  \
	X(priority, "priority", "NUMBER", "of the socket, SO_PRIORITY", NUMBER,                  \
	  word[MPS_STEER_SO_PRIORITY], mask[MPS_STEER_SO_PRIORITY])                              \
	X(uid, "uid", "USER|NUMBER", "whose socket it is", NUMBER, word[MPS_STEER_UID],          \
	  mask[MPS_STEER_UID])                                                                   \
	X(cgroup, "cgroup", "PATH|id:NUMBER", "the socket's, or one above it", TEXT, cgroup,     \
	  cgroup_level)                                                                          \
	X(netns, "netns", "NAME|PATH|PID|net:[INODE]", "its network namespace", TEXT,            \
	  word[MPS_STEER_NETNS], mask[MPS_STEER_NETNS])

#define STEER_RULE_OPTIONS(X)                                                                  \
	X(mode, "mode", "MODE", "what is done with the connection", TEXT, mode, mode)          \
	X(deadline_us, "deadline", "TIME|none",                                                \
	  "of priority: the next rank helps with what would be later (1s)", TIME, deadline_us, \
	  deadline_us)                                                                         \
	X(budget, "budget", "PERCENT%|none",                                                   \
	  "of redundant: the most that is copied, of the new bytes (none)", NUMBER, budget,    \
	  budget)

#define STEER_PATH_FIELDS(X)                                                                        \
	X(name, "name", "NAME", "its name in `stats` and other commands", TEXT, name, name)         \
	X(device, "device", "DEVICE", "where its route leads", TEXT, device, device)                \
	X(local, "local", "PREFIX", "this end's address", TEXT, ends.local, ends.local_mask)        \
	X(remote, "remote", "PREFIX", "the peer's address", TEXT, ends.remote, ends.remote_mask)    \
	X(id, "id", "NUMBER", "of this end's address, as in `ip mptcp endpoint`", NUMBER,           \
	  local_id, local_id)                                                                       \
	X(remote_id, "remote-id", "NUMBER", "of the peer's address, as the peer numbers its own",   \
	  NUMBER, remote_id, remote_id)                                                             \
	X(backup, "backup", "", "one that either end wants as a backup only", FLAG, flags, flags)   \
	X(rank, "rank", "NUMBER", "of active-standby and priority, the lowest first (0)", NUMBER,   \
	  rank, rank)                                                                               \
	X(weight, "weight", "NUMBER", "of load-balancing, 1 to 100 (1)", NUMBER, weight, weight)    \
	X(rtt_us, "rtt", "TIME",                                                                    \
	  "with a greater RTT it gets new data only if no other path does better", TIME, rtt_us,    \
	  rtt_us)                                                                                   \
	X(loss, "loss", "PERCENT%",                                                                 \
	  "where more of its segments are lost it gets new data only if no other path does "        \
	  "better",                                                                                 \
	  NUMBER, loss, loss)                                                                       \
	X(metered, "metered", "",                                                                   \
	  "by rank behind all that are not; no copies, but in mode redundant or where others fail", \
	  FLAG, flags, flags)                                                                       \
	X(cap, "cap", "BYTES", "per period, both ways; then no new data while another path lives",  \
	  NUMBER, account.cap, account.cap)                                                         \
	X(period, "period", "day|week|month", "of the cap, by local time; weeks begin on Monday",   \
	  TEXT, account.period, account.period)                                                     \
	X(day, "day", "NUMBER", "of the month, on which the period begins, 1 to 31 (1)", NUMBER,    \
	  account.day, account.day)                                                                 \
	X(only, "only", "allow|block",                                                              \
	  "over its cap, where no other path lives: whether it carries (allow)", TEXT, flags,       \
	  flags)

enum steer_json {
	STEER_JSON_TEXT,
	STEER_JSON_NUMBER,
	STEER_JSON_TIME, /* a number; null where there is none, all bits set */
	STEER_JSON_PAIR, /* a list of both members */
	STEER_JSON_FLAG,
};

/*
 * Rows as void *, a rule or a path. read, ask: false: why says what is wrong with the value. write:
 * false: the row says nothing of it.
 */
struct steer_field {
	const char *name, *value, *text, *key;
	enum steer_json json;
	struct {
		size_t at, size;
	} part[2];
	bool (*read)(void *row, const char *value, struct steer_why *why);
	bool (*write)(const void *row, char *buf, size_t size);
	/* the one value that a connection has; NULL: an option, or not of a connection */
	bool (*ask)(struct mps_steer_key *key, const char *value, struct steer_why *why);
};

#define STEER_FIELD(type, id, name, value, text, json, first, second, ask_it) \
	{ name,                                                               \
	  value,                                                              \
	  text,                                                               \
	  #id,                                                                \
	  STEER_JSON_##json,                                                  \
	  { { offsetof(type, first), sizeof(((type *)0)->first) },            \
	    { offsetof(type, second), sizeof(((type *)0)->second) } },        \
	  read_##id,                                                          \
	  write_##id,                                                         \
	  ask_it }

struct steer_kind {
	const char *name;		  /* "rule" */
	const struct steer_field *fields; /* the last one has no name */
	void (*clear)(void *row);
	/* What is wrong with the row as a whole; seen: a bit for each field that it was given. */
	bool (*is_whole)(const void *row, unsigned int seen, struct steer_why *why);
};

extern const struct steer_kind steer_rule_kind, steer_path_kind;

/*
 * Reads a row of that many words. Where it fails, the error names the field. usage: the code for
 * words that no machine would take.
 */
enum exit_code steer_read(const struct steer_kind *k, enum exit_code usage, void *row,
			  const char *const *word, unsigned int nr);
/* The same, but what is right and not there is left out. *absent: why, or its code is EX_OK. */
enum exit_code steer_read_here(const struct steer_kind *k, enum exit_code usage, void *row,
			       const char *const *word, unsigned int nr, struct steer_why *absent);

/* The row as it is read. */
const char *steer_write(const struct steer_kind *k, const void *row, char *buf, size_t size);

/* One of the two members of a field that JSON has as a number. */
__u64 steer_number(const struct steer_field *f, const void *row, unsigned int part);

/* A connection as far as it is described; seen: which fields of a rule are. */
struct steer_asked {
	struct mps_steer_key key;
	unsigned int seen;
};

enum exit_code steer_ask(struct steer_asked *a, const char *const *word, unsigned int nr);

/* Fields of a rule as it writes them: those that do not match, and those that are not described. */
struct steer_compared {
	char differs[STEER_LINE], depends[STEER_LINE];
};

/* Both "": it matches. */
void steer_compare(struct steer_compared *c, const struct mps_steer_rule *r,
		   const struct steer_asked *a);

/* Does the first match all that the second does? */
bool steer_covers_rule(const struct mps_steer_rule *a, const struct mps_steer_rule *b);
bool steer_covers_path(const struct mps_steer_path *a, const struct mps_steer_path *b);

/* Is one end of IPv4 and the other of IPv6, so that nothing matches? */
bool steer_ends_differ(const struct mps_steer_prefixes *ends);

#endif /* MPS_STEER_FIELDS_H */
