// SPDX-License-Identifier: GPL-2.0
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include "cli/error.h"
#include "cli/keys.h"
#include "cli/screen.h"
#include "cli/signals.h"
#include "cli/wrap.h"

#define ESC "\033"
/* The second page that terminals have, without a cursor; and back. */
#define PAGE_ON ESC "[?1049h" ESC "[?25l"
#define PAGE_OFF ESC "[?25h" ESC "[?1049l"
#define HOME ESC "[H"
#define CLEAR_LINE ESC "[K"
#define CLEAR_REST ESC "[J"

static const int endings[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
#define NR_ENDINGS (sizeof(endings) / sizeof(endings[0]))

static volatile sig_atomic_t ended, resized;
static bool on;
/* where the page begins, by the user's keys, and how far these lead */
static unsigned int top, sheet, last_top, nr_sheets = 1, body_rows;

static void on_signal(int number)
{
	if (number == SIGWINCH)
		resized = 1;
	else
		ended = 1;
}

void screen_open(bool draw)
{
	/* no SA_RESTART: whatever waits, a terminal that was stopped as well, is left */
	struct sigaction act = { .sa_handler = on_signal };
	unsigned int i;

	for (i = 0; i < NR_ENDINGS; i++)
		if (!signal_is_ignored(endings[i]))
			sigaction(endings[i], &act, NULL);
	on = draw && isatty(STDOUT_FILENO);
	if (!on)
		return;
	sigaction(SIGWINCH, &act, NULL);
	error_first(screen_close);
	keys_open();
	fputs(PAGE_ON, stdout);
	fflush(stdout);
}

void screen_close(void)
{
	if (!on)
		return;
	on = false;
	keys_close();
	fputs(PAGE_OFF, stdout);
	fflush(stdout);
}

bool screen_is_on(void)
{
	return on;
}

static void screen_size(unsigned int *rows, unsigned int *cols)
{
	struct winsize size = { 0 };

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	*rows = size.ws_row ? size.ws_row : 24;
	*cols = size.ws_col ? size.ws_col : 80;
}

unsigned int screen_cols(void)
{
	unsigned int rows, cols;

	screen_size(&rows, &cols);
	return cols;
}

unsigned int screen_width(void)
{
	return isatty(STDOUT_FILENO) ? screen_cols() : 0;
}

unsigned int screen_lines(void)
{
	unsigned int rows, cols;

	screen_size(&rows, &cols);
	return top + rows;
}

unsigned int screen_sheet(void)
{
	return sheet;
}

/* Far beyond any text: where it ends is known when it is drawn. */
#define FAR (1U << 30)

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* One for the line below the text: the keys, what they lead to, and what is out of sight. */
static void status_text(const struct screen_text *t, const struct wrapped *body, unsigned int rows,
			char *buf, size_t size)
{
	const bool keys = keys_fd() >= 0;
	const bool more = top || body->nr > rows || !t->whole;
	const unsigned int last = least(top + rows, body->nr);
	size_t at = 0;

	*buf = '\0';
#define ADD(...) at += at < size ? (size_t)snprintf(buf + at, size - at, __VA_ARGS__) : 0
	if (keys)
		ADD("q: quit");
	if (keys && t->sheets > 1)
		ADD("  left, right: columns %u/%u", sheet + 1, t->sheets);
	if (more)
		ADD("  %slines %u-%u of %u%s", keys ? "up, down: " : "", top + 1, last, body->nr,
		    t->whole ? "" : "+");
	if (*t->left_out)
		ADD("  not shown: %s", t->left_out);
	if (!keys && (more || *t->left_out))
		ADD("  (a larger terminal shows more)");
#undef ADD
}

static void draw_lines(const struct wrapped *w, unsigned int from, unsigned int nr, bool first)
{
	unsigned int i;

	for (i = from; i < from + nr && i < w->nr; i++) {
		if (!first)
			fputs("\r\n", stdout);
		first = false;
		wrap_print(w, i, stdout);
		fputs(CLEAR_LINE, stdout);
	}
}

/* The text as it is by now may be shorter. */
static void keep_within(const struct screen_text *t, const struct wrapped *body, unsigned int rows)
{
	body_rows = rows;
	last_top = !t->whole ? FAR : body->nr > rows ? body->nr - rows : 0;
	top = least(top, last_top);
}

void screen_draw(const struct screen_text *t)
{
	unsigned int rows, cols, below, i;
	struct wrapped body, status;
	char line[600];

	screen_size(&rows, &cols);
	/* a character and the mark */
	if (cols < 2)
		return;
	wrap(&body, t->text, cols);
	nr_sheets = t->sheets;
	sheet = least(sheet, nr_sheets - 1);
	status_text(t, &body, rows - 1, line, sizeof(line));
	wrap(&status, line + strspn(line, " "), cols);
	below = least(status.nr, rows / 2);
	/* how many lines this takes decides which ones there are above */
	keep_within(t, &body, rows - below);
	wrap_free(&status);
	status_text(t, &body, rows - below, line, sizeof(line));
	wrap(&status, line + strspn(line, " "), cols);
	wrap_crop(&status, below);

	fputs(HOME, stdout);
	draw_lines(&body, top, rows - below, true);
	for (i = body.nr > top ? body.nr - top : 0; below && i < rows - below; i++)
		fputs(i ? "\r\n" CLEAR_LINE : CLEAR_LINE, stdout);
	draw_lines(&status, 0, below, false);
	fputs(CLEAR_REST, stdout);
	fflush(stdout);
	wrap_free(&body);
	wrap_free(&status);
}

static void move(unsigned int *value, int by, unsigned int most)
{
	const unsigned int to =
		by < 0 && *value < (unsigned int)-by ? 0 : *value + (unsigned int)by;

	*value = least(to, most);
}

static void obey(enum key key)
{
	switch (key) {
	case KEY_UP:
		move(&top, -1, last_top);
		break;
	case KEY_DOWN:
		move(&top, 1, last_top);
		break;
	case KEY_PAGE_UP:
		move(&top, -(int)body_rows, last_top);
		break;
	case KEY_PAGE_DOWN:
		move(&top, (int)body_rows, last_top);
		break;
	case KEY_LEFT:
		move(&sheet, -1, nr_sheets - 1);
		break;
	case KEY_RIGHT:
		move(&sheet, 1, nr_sheets - 1);
		break;
	case KEY_HOME:
		top = 0;
		break;
	case KEY_END:
		top = last_top;
		break;
	case KEY_QUIT:
		ended = 1;
		break;
	case KEY_NONE:
		break;
	}
}

static void read_keys(void)
{
	enum key key;

	for (key = keys_read(); key != KEY_NONE; key = keys_next())
		obey(key);
}

enum screen_event screen_wait(double seconds)
{
	struct timespec ts = { .tv_sec = (time_t)seconds };
	struct pollfd keys = { .fd = keys_fd(), .events = POLLIN };
	sigset_t wait, all;
	unsigned int i;
	int ready = 0;

	ts.tv_nsec = (long)((seconds - (double)ts.tv_sec) * 1e9);
	sigemptyset(&all);
	for (i = 0; i < NR_ENDINGS; i++)
		sigaddset(&all, endings[i]);
	sigaddset(&all, SIGWINCH);
	/* one that comes between the look and the wait has to end the wait as well */
	sigprocmask(SIG_BLOCK, &all, &wait);
	if (!ended && !resized)
		ready = ppoll(&keys, 1, &ts, &wait);
	sigprocmask(SIG_SETMASK, &wait, NULL);
	if (ready > 0)
		read_keys();
	if (ended)
		return SCREEN_END;
	if (!resized && ready <= 0)
		return SCREEN_TIME;
	resized = 0;
	return SCREEN_CHANGED;
}
