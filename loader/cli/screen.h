/* SPDX-License-Identifier: GPL-2.0 */
/* A text that is shown again and again at the same place of a terminal. */
#ifndef MPS_SCREEN_H
#define MPS_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * From here on a signal that ends the process ends the wait instead. Where stdout is a terminal
 * and `draw` is set it shows an empty page, until screen_close(), or an error to be told, brings
 * back what was there.
 */
void screen_open(bool draw);
void screen_close(void);
/* Is there a page? Its width. */
bool screen_is_on(void);
unsigned int screen_cols(void);

/* The terminal's that stdout is, with a page or without; 0: it is none. */
unsigned int screen_width(void);

/* What the user wants to see: so many lines are needed, and this sheet of columns (output.h). */
unsigned int screen_lines(void);
unsigned int screen_sheet(void);

struct screen_text {
	const char *text; /* plain (text.h) */
	bool whole;	  /* it goes no further */
	unsigned int sheets;
	const char *left_out; /* columns that this sheet has not, or "" */
};

/*
 * Over what is there, so that nothing flickers. Lines that are too long go on in the next one. What
 * there is beyond the page, and how to get there, stands below.
 */
void screen_draw(const struct screen_text *t);

enum screen_event { SCREEN_TIME, SCREEN_CHANGED, SCREEN_END };
/* At most that long. SCREEN_CHANGED: the same is to be drawn again, for another size or place. */
enum screen_event screen_wait(double seconds);

#endif /* MPS_SCREEN_H */
