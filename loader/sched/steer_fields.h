/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The words of rules and paths, one table each: what the command takes, prints, saves and explains
 * comes from them. A row is written as FIELD VALUE pairs.
 */
#ifndef MPS_STEER_FIELDS_H
#define MPS_STEER_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include "cli/error.h"
#include "state/steer.h"

#define STEER_WHY 200
#define STEER_TEXT 300	/* of one value */
#define STEER_LINE 1200 /* of one row */

/*
 * Rows as void *, a rule or a path. read: false: why says what is wrong with the value. write:
 * false: the row says nothing of it.
 */
struct steer_field {
	const char *name;
	const char *value; /* what it may be; NULL: the field stands for itself */
	const char *text;
	bool (*read)(void *row, const char *value, char *why);
	bool (*write)(const void *row, char *buf, size_t size);
	bool options; /* says what is done, and not which connections match */
};

struct steer_kind {
	const char *name; /* "rule" */
	size_t size;
	const struct steer_field *fields; /* the last one has no name */
	void (*clear)(void *row);
};

extern const struct steer_kind steer_rule_kind, steer_path_kind;

/*
 * Reads a row of that many words. Where it fails, the error names the field. usage: the code for
 * words that no machine would take.
 */
enum exit_code steer_read(const struct steer_kind *k, enum exit_code usage, void *row,
			  const char *const *word, unsigned int nr);

/* The row as it is read: the fields that say what is done, or the others, or all of them. */
enum steer_part { STEER_ALL, STEER_MATCHES, STEER_OPTIONS };
const char *steer_write(const struct steer_kind *k, const void *row, enum steer_part part,
			char *buf, size_t size);

/* "" or the fields in which a rule does not match, as it writes them. */
const char *steer_differs(const struct mps_steer_rule *r, const struct mps_steer_key *k, char *buf,
			  size_t size);

/* Does the first match all that the second does? */
bool steer_covers_rule(const struct mps_steer_rule *a, const struct mps_steer_rule *b);
bool steer_covers_path(const struct mps_steer_path *a, const struct mps_steer_path *b);

/* The connection that a row of `steer test` describes. */
void steer_key_of(struct mps_steer_key *k, const struct mps_steer_rule *r);

const char *steer_mode_name(unsigned int mode);

#endif /* MPS_STEER_FIELDS_H */
