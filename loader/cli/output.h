/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Output. A command builds one tree of objects and lists; --json prints the
 * tree, the text for people is rendered from the same tree through tables of
 * columns. So the two cannot drift apart.
 */
#ifndef MPS_OUTPUT_H
#define MPS_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <json-c/json.h>

typedef struct json_object output_t;

/* one_line: each document on a line of its own, for readers of a stream. */
void output_setup(bool json, bool one_line);
bool output_is_json(void);

/* The object of this run; output_finish() prints it under --json and forgets it. */
output_t *output_root(void);
void output_finish(void);
void output_forget(void);

/* Keys are literals: they are not copied. Into an object or a list that is NULL goes nothing. */

void output_str(output_t *obj, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void output_num(output_t *obj, const char *key, uint64_t value);
/* With that many decimal places. */
void output_real(output_t *obj, const char *key, double value, int decimals);
void output_flag(output_t *obj, const char *key, bool value);
void output_null(output_t *obj, const char *key);
output_t *output_obj(output_t *obj, const char *key);  /* new object under key */
output_t *output_list(output_t *obj, const char *key); /* new or existing list under key */
output_t *output_item(output_t *list);		       /* new object at the list's end */
void output_word(output_t *list, const char *text);    /* new string at the list's end */
void output_count(output_t *list, uint64_t value);     /* new number at the list's end */

/* The value at "key.key", where a number is a place in a list; NULL: there is none. */
output_t *output_at(output_t *o, const char *path);
/*
 * A list too long to be held: begin prints the root as it is so far, each object is printed and
 * freed by itself, and end prints what the root has been given since. In place of output_finish().
 */
void output_stream_begin(const char *key);
void output_stream_item(output_t *item);
void output_stream_end(void);

/* How a column shows its values. */
enum output_how {
	OUTPUT_LEFT,
	OUTPUT_RIGHT,
	OUTPUT_RATE, /* bytes per second, with a unit */
	OUTPUT_BAR,  /* a share from 0 to 1 */
};

/* Beside it, from 1 to 15: where there is no room for all columns, those of the least go first. */
#define OUTPUT_RANK(n) ((n) << OUTPUT_RANK_SHIFT)
#define OUTPUT_RANK_SHIFT 4

/* key: of the row, or "object.key" below it; head NULL ends the columns. */
struct output_col {
	const char *key, *head;
	unsigned char how; /* enum output_how, OUTPUT_RANK(); true: OUTPUT_RIGHT, for numbers */
};

/* "1.23 MB/s" */
const char *rate_text(double bytes_per_s, char *buf, size_t size);

/* From here on into this file instead of stdout; NULL: back again. */
void output_into(FILE *file);
FILE *output_sink(void);

/* Text only: the list as an aligned table, each line behind indent. */
void output_table(output_t *list, const struct output_col *cols, const char *indent);

/*
 * Text only: tables from here on are no wider than that; 0: as wide as they are. The first column
 * and those of the best ranks that have room are on sheet 0, the others on the next ones.
 */
void output_fit(unsigned int cols, unsigned int sheet);
/* What the tables since then left out: "HEAD, HEAD". `*sheets`: how many the widest has. */
const char *output_left_out(char *buf, size_t size, unsigned int *sheets);

/* Text only: one line, whatever control characters stand in what it is made of (text.h). */
void output_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Text only: a part of one. */
void output_text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A remark of the run: "note: ..." in text, an element of "notes" in JSON. */
void output_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif /* MPS_OUTPUT_H */
