/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Text from elsewhere: names of processes, namespaces, containers and files may hold any byte. What
 * prints takes care of it (output.c, error.c), so that no command can forget to.
 */
#ifndef MPS_TEXT_H
#define MPS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * In place: what a terminal could obey, and what is no UTF-8, becomes "?", as in ps. Line feeds and
 * tabs stay where `lines` says so. Returns the text.
 */
char *text_plain(char *text, bool lines);

/* How many columns a plain text takes. */
int text_width(const char *text);

/* How many bytes at `text` are one character of UTF-8; 0: none of it. `*code` is its number. */
unsigned int text_char(const char *text, unsigned int *code);

/* The text itself, or where it is no UTF-8 a copy that is, in `*copy`, for the caller to free. */
const char *text_utf8(const char *text, char **copy);

#endif /* MPS_TEXT_H */
