/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /etc/mptcp-sched.conf: which schedulers are loaded, with which tunables, and
 * which namespace selects which. Each statement is one line of an INI file:
 *
 *	[load]
 *	SCHEDULER or FILE = TUNABLE=VALUE ...
 *	[root]
 *	scheduler = SCHEDULER [--reinject]
 *	[netns]
 *	NAME = SCHEDULER [--reinject]
 */
#ifndef MPS_CONFIG_H
#define MPS_CONFIG_H

#include <stdbool.h>
#include "args.h"

#define CONFIG_FILE "/etc/mptcp-sched.conf"

enum config_kind { CONFIG_LOAD, CONFIG_ROOT, CONFIG_NETNS, NR_CONFIG_KINDS };

struct config_line {
	enum config_kind kind;
	unsigned int line;
	char *key;
	char *word[MAX_SETS]; /* of the value, cut at its blanks */
	unsigned int nr_words;
	bool reinject; /* of the last two kinds */
};

struct config {
	const char *path;
	struct config_line *line;
	unsigned int nr;
};

/* Fails at the first thing that is wrong, with its file and line. The caller frees it always. */
enum exit_code config_read(struct config *c, const char *path);
void config_free(struct config *c);

/* "FILE:LINE", for messages */
const char *config_place(const struct config *c, unsigned int line, char *buf, size_t size);

#endif /* MPS_CONFIG_H */
