/* SPDX-License-Identifier: GPL-2.0 */
/* A text in lines of a given width: nothing is left out, and no number falls apart unmarked. */
#ifndef MPS_WRAP_H
#define MPS_WRAP_H

#include <stdbool.h>
#include <stdio.h>

/* Stands where a word goes on in the next line, or a text behind the last one. */
#define WRAP_MARK '+'

struct wrap_line {
	const char *at;
	unsigned int len; /* bytes */
	bool goes_on;	  /* what the line before begins, behind an indent */
	bool cut;
};

struct wrapped {
	struct wrap_line *line;
	unsigned int nr, indent;
};

/* Of a plain text (text.h), which must stay; cols: 2 or more. */
void wrap(struct wrapped *w, const char *text, unsigned int cols);
/* To so many lines; the last one has the mark where more went before. */
void wrap_crop(struct wrapped *w, unsigned int nr);
void wrap_print(const struct wrapped *w, unsigned int line, FILE *f);
void wrap_free(struct wrapped *w);

#endif /* MPS_WRAP_H */
