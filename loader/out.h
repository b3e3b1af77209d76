/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Output. A command builds one tree of objects and lists; --json prints the
 * tree, the text for people is rendered from the same tree through tables of
 * columns. So the two cannot drift apart.
 */
#ifndef MPS_OUT_H
#define MPS_OUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <json-c/json.h>

typedef struct json_object out_t;

/* one_line: each document on a line of its own, for readers of a stream. */
void out_setup(bool json, bool one_line);
bool out_is_json(void);

/* The object of this run; out_finish() prints it under --json and forgets it. */
out_t *out_root(void);
void out_finish(void);
void out_forget(void);

/* Keys are literals: they are not copied. Into an object or a list that is NULL goes nothing. */

void out_str(out_t *obj, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void out_num(out_t *obj, const char *key, uint64_t value);
/* With that many decimal places. */
void out_real(out_t *obj, const char *key, double value, int decimals);
void out_flag(out_t *obj, const char *key, bool value);
void out_null(out_t *obj, const char *key);
out_t *out_obj(out_t *obj, const char *key);  /* new object under key */
out_t *out_list(out_t *obj, const char *key); /* new or existing list under key */
out_t *out_item(out_t *list);		      /* new object at the list's end */
void out_word(out_t *list, const char *text); /* new string at the list's end */

/* The value at "key.key", where a number is a place in a list; NULL: there is none. */
out_t *out_at(out_t *o, const char *path);
/*
 * A list too long to be held: begin prints the root as it is so far, each object is printed and
 * freed by itself, and end prints what the root has been given since. In place of out_finish().
 */
void out_stream_begin(const char *key);
void out_stream_item(out_t *item);
void out_stream_end(void);

/* How a column shows its values. */
enum out_how {
	OUT_LEFT,
	OUT_RIGHT,
	OUT_RATE, /* bytes per second, with a unit */
	OUT_BAR,  /* a share from 0 to 1 */
};

/* key: of the row, or "object.key" below it; head NULL ends the columns. */
struct out_col {
	const char *key, *head;
	unsigned char how; /* enum out_how; true: OUT_RIGHT, for numbers */
};

/* "1.23 MB/s" */
const char *rate_text(double bytes_per_s, char *buf, size_t size);

/* Text only: from here on into this file instead of stdout; NULL: back again. */
void out_into(FILE *file);

/* Text only: the list as an aligned table, each line behind indent. */
void out_table(out_t *list, const struct out_col *cols, const char *indent);

/* Text only: one line. */
void out_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Text only: a part of one. */
void out_text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A remark of the run: "note: ..." in text, an element of "notes" in JSON. */
void out_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif /* MPS_OUT_H */
