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
/* Is there a page? Its size. */
bool screen_is_on(void);
void screen_size(unsigned int *rows, unsigned int *cols);

/*
 * Over what is there, so that nothing flickers. Lines are cut where the page ends; where there
 * are too many, the last one is `more`.
 */
void screen_draw(const char *text, const char *more);

enum screen_event { SCREEN_TIME, SCREEN_RESIZED, SCREEN_END };
/* At most that long. */
enum screen_event screen_wait(double seconds);

#endif /* MPS_SCREEN_H */
