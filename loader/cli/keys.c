// SPDX-License-Identifier: GPL-2.0
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include "cli/keys.h"

#define ESC "\033"

/* As xterm, the Linux console and their like send them; letters as in less. */
static const struct {
	const char *text;
	enum key key;
} known[] = {
	{ ESC "[A", KEY_UP },	    { ESC "OA", KEY_UP },    { "k", KEY_UP },
	{ ESC "[B", KEY_DOWN },	    { ESC "OB", KEY_DOWN },  { "j", KEY_DOWN },
	{ ESC "[C", KEY_RIGHT },    { ESC "OC", KEY_RIGHT }, { "l", KEY_RIGHT },
	{ ESC "[D", KEY_LEFT },	    { ESC "OD", KEY_LEFT },  { "h", KEY_LEFT },
	{ ESC "[5~", KEY_PAGE_UP }, { "b", KEY_PAGE_UP },    { ESC "[6~", KEY_PAGE_DOWN },
	{ " ", KEY_PAGE_DOWN },	    { ESC "[H", KEY_HOME },  { ESC "OH", KEY_HOME },
	{ ESC "[1~", KEY_HOME },    { "g", KEY_HOME },	     { ESC "[F", KEY_END },
	{ ESC "OF", KEY_END },	    { ESC "[4~", KEY_END },  { "G", KEY_END },
	{ "q", KEY_QUIT },	    { "Q", KEY_QUIT },
};

#define NR_KNOWN (sizeof(known) / sizeof(known[0]))

static bool is_open, ended;
static struct termios before;
static char pressed[64]; /* and not taken yet */
static size_t nr_pressed;

bool keys_open(void)
{
	const pid_t front = tcgetpgrp(STDIN_FILENO);
	struct termios now;

	/* one in the background would be stopped */
	if ((front > 0 && front != getpgrp()) || tcgetattr(STDIN_FILENO, &before))
		return false;
	now = before;
	now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	now.c_cc[VMIN] = 1;
	now.c_cc[VTIME] = 0;
	is_open = !tcsetattr(STDIN_FILENO, TCSANOW, &now);
	return is_open;
}

void keys_close(void)
{
	if (is_open)
		tcsetattr(STDIN_FILENO, TCSANOW, &before);
	is_open = false;
}

int keys_fd(void)
{
	return is_open && !ended ? STDIN_FILENO : -1;
}

static void take(size_t len)
{
	nr_pressed -= len;
	memmove(pressed, pressed + len, nr_pressed);
}

/* A sequence that is not known, up to its last letter; 0: that has not come yet. */
static size_t sequence_len(void)
{
	size_t i;

	for (i = 1; i < nr_pressed; i++)
		if (pressed[i] >= '@' && pressed[i] <= '~' && !(i == 1 && pressed[i] == '[') &&
		    !(i == 1 && pressed[i] == 'O'))
			return i + 1;
	return nr_pressed == sizeof(pressed) ? nr_pressed : 0;
}

enum key keys_next(void)
{
	while (nr_pressed) {
		size_t i, len;

		for (i = 0; i < NR_KNOWN; i++) {
			len = strlen(known[i].text);
			if (len > nr_pressed || memcmp(pressed, known[i].text, len))
				continue;
			take(len);
			return known[i].key;
		}
		len = *pressed == *ESC ? sequence_len() : 1;
		if (!len)
			break;
		take(len);
	}
	return KEY_NONE;
}

enum key keys_read(void)
{
	ssize_t n = read(STDIN_FILENO, pressed + nr_pressed, sizeof(pressed) - nr_pressed);

	ended = n <= 0;
	if (n > 0)
		nr_pressed += (size_t)n;
	return keys_next();
}
