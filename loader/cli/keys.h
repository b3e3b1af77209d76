/* SPDX-License-Identifier: GPL-2.0 */
/* Keys of a terminal as they are pressed. */
#ifndef MPS_KEYS_H
#define MPS_KEYS_H

#include <stdbool.h>

enum key {
	KEY_NONE,
	KEY_UP,
	KEY_DOWN,
	KEY_LEFT,
	KEY_RIGHT,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_END,
	KEY_QUIT,
};

/* From stdin, without echo, until keys_close(). False: it is no terminal of this process. */
bool keys_open(void);
void keys_close(void);

/* To be polled; -1: there are no keys, or no more of them. */
int keys_fd(void);

/* When keys_fd() can be read. KEY_NONE: nothing that is known. */
enum key keys_read(void);
/* Of what was read at once. */
enum key keys_next(void);

#endif /* MPS_KEYS_H */
