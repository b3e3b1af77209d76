// SPDX-License-Identifier: GPL-2.0
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include "report.h"
#include "screen.h"

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
		sigaction(endings[i], &act, NULL);
	on = draw && isatty(STDOUT_FILENO);
	if (!on)
		return;
	sigaction(SIGWINCH, &act, NULL);
	report_first(screen_close);
	fputs(PAGE_ON, stdout);
	fflush(stdout);
}

void screen_close(void)
{
	if (!on)
		return;
	on = false;
	fputs(PAGE_OFF, stdout);
	fflush(stdout);
}

bool screen_is_on(void)
{
	return on;
}

void screen_size(unsigned int *rows, unsigned int *cols)
{
	struct winsize size = { 0 };

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	*rows = size.ws_row ? size.ws_row : 24;
	*cols = size.ws_col ? size.ws_col : 80;
}

/*
 * One line as far as it fits, by characters and not by bytes; names of namespaces are the only
 * text here that could hold anything but ASCII, and control characters stay out.
 */
static const char *draw_line(const char *at, unsigned int cols)
{
	unsigned int n = 0;

	for (; *at && *at != '\n'; at++) {
		const unsigned char c = (unsigned char)*at;
		/* 10xxxxxx goes on with a character of UTF-8 */
		const bool begins = (c & 0xc0) != 0x80;

		if (n + begins > cols)
			break;
		n += begins;
		putchar(c < ' ' || c == 0x7f ? '?' : c);
	}
	fputs(CLEAR_LINE, stdout);
	return at + strcspn(at, "\n");
}

static unsigned int count_lines(const char *text)
{
	unsigned int n = 0;

	for (; *text; text++)
		n += *text == '\n' || !text[1];
	return n;
}

void screen_draw(const char *text, const char *more)
{
	unsigned int rows, cols, row, lines = count_lines(text);

	screen_size(&rows, &cols);
	fputs(HOME, stdout);
	for (row = 0; row < rows && *text; row++) {
		if (row)
			fputs("\r\n", stdout);
		if (row == rows - 1 && lines > rows) {
			draw_line(more, cols);
			break;
		}
		text = draw_line(text, cols);
		text += *text == '\n';
	}
	fputs(CLEAR_REST, stdout);
	fflush(stdout);
}

enum screen_event screen_wait(double seconds)
{
	struct timespec ts = { .tv_sec = (time_t)seconds };
	sigset_t wait, all;
	unsigned int i;

	ts.tv_nsec = (long)((seconds - (double)ts.tv_sec) * 1e9);
	sigemptyset(&all);
	for (i = 0; i < NR_ENDINGS; i++)
		sigaddset(&all, endings[i]);
	sigaddset(&all, SIGWINCH);
	/* one that comes between the look and the wait has to end the wait as well */
	sigprocmask(SIG_BLOCK, &all, &wait);
	if (!ended && !resized)
		ppoll(NULL, 0, &ts, &wait);
	sigprocmask(SIG_SETMASK, &wait, NULL);
	if (ended)
		return SCREEN_END;
	if (!resized)
		return SCREEN_TIME;
	resized = 0;
	return SCREEN_RESIZED;
}
