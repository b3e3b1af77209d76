/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /etc/mptcp-sched.conf: which schedulers are loaded, with which tunables, which namespace selects
 * which, and what annotations of containers may ask for and have loaded. It is an INI file, with a
 * line for each statement:
 *
 *	[load]
 *	SCHEDULER or FILE = TUNABLE=VALUE ...
 *	[root]
 *	scheduler = SCHEDULER [--reinject]
 *	[netns]
 *	NAME = SCHEDULER [--reinject]
 *	[paths]
 *	NAME = FIELD VALUE ...		as of `steer path add name NAME`
 *	[rules]
 *	rule = FIELD VALUE ...		as of `steer rule add`, in this order
 *	[containers]
 *	load = SCHEDULER ... [--reinject]
 *	allow = SCHEDULER ... [--reinject]
 */
#ifndef MPS_CONFIG_H
#define MPS_CONFIG_H

#include <stdbool.h>
#include "cli/args.h"

#define CONFIG_FILE "/etc/mptcp-sched.conf"

/* In the order in which apply does them. The last one is for `oci-hook`. */
enum config_kind {
	CONFIG_LOAD,
	CONFIG_PATHS,
	CONFIG_RULES,
	CONFIG_ROOT,
	CONFIG_NETNS,
	CONFIG_CONTAINERS,
	NR_CONFIG_KINDS
};

#define CONFIG_REINJECT "--reinject"

/* The keys of CONFIG_CONTAINERS. */
#define CONFIG_MAY_LOAD "load"
#define CONFIG_MAY_ASK "allow"

struct config_line {
	enum config_kind kind;
	unsigned int line;
	char *key;
	char *word[MAX_SETS]; /* of the value, cut at its blanks */
	unsigned int nr_words;
	bool reinject; /* of CONFIG_ROOT and CONFIG_NETNS */
};

struct config {
	const char *path;
	struct config_line *line;
	unsigned int nr;
};

/* Fails at the first thing that is wrong, with its file and line. The caller frees it always. */
enum exit_code config_read(struct config *c, const char *path);
void config_free(struct config *c);

/* May an annotation have it loaded: a scheduler, or CONFIG_REINJECT? */
bool config_lets_load(const struct config *c, const char *word);
/* May an annotation ask for it, loaded or not? Without a list of what may be asked for: for all. */
bool config_lets_ask(const struct config *c, const char *word);

/* "FILE:LINE", for messages */
const char *config_place(const struct config *c, unsigned int line, char *buf, size_t size);

#endif /* MPS_CONFIG_H */
