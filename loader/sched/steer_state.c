// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/steer_mode.h"
#include "cli/util.h"
#include "sched/steer_state.h"
#include "state/steer_period.h"

#define STATE_TMP STEER_STATE_DIR "/.accounts.new"
#define LIMIT (1 << 20)
#define LINE 256
/* A file that is cut off has no end, and one of another version nothing else that is known. */
#define ANY_VERSION "accounts "
#define VERSION ANY_VERSION "1"
#define END "end"
#define HEAD                                                                                       \
	"# Accounts of mptcp-sched: path, period (- for good) and its day; when the period\n"      \
	"# began, bytes sent, received; the same of the one before; the clock's period.\n" VERSION \
	"\n"
/* No sum of two of them is less than nothing. */
#define MAX_BYTES (1ULL << 61)

const struct steer_saved *steer_state_find(const struct steer_state *st, const char *name)
{
	unsigned int i;

	for (i = 0; i < st->nr; i++)
		if (!strcmp(st->row[i].name, name))
			return &st->row[i];
	return NULL;
}

void steer_state_set(struct steer_state *st, const struct steer_saved *row)
{
	const struct steer_saved *old = steer_state_find(st, row->name);
	const unsigned int at = old ? (unsigned int)(old - st->row) : st->nr;
	const unsigned int behind = at < STEER_STATE_MAX ? at : STEER_STATE_MAX - 1;

	memmove(&st->row[1], &st->row[0], behind * sizeof(st->row[0]));
	st->row[0] = *row;
	if (!old && st->nr < STEER_STATE_MAX)
		st->nr++;
}

static void text_date(__s32 days, char *buf, size_t size)
{
	const struct mps_date d = mps_date_of(days);

	snprintf(buf, size, days ? "%04d-%02d-%02d" : "-", d.year, d.month, d.day);
}

static bool parse_date(__s32 *days, const char *text)
{
	struct mps_date d;

	*days = 0;
	if (!strcmp(text, "-"))
		return true;
	if (sscanf(text, "%4d-%2d-%2d", &d.year, &d.month, &d.day) != 3 || d.year < 1970 ||
	    d.month < 1 || d.month > 12)
		return false;
	*days = mps_date_days(d);
	return *days > 0;
}

static bool parse_period(struct mps_steer_account *a, const char *text)
{
	for (a->period = 0; a->period < MPS_NR_STEER_PERIODS; a->period++)
		if (!strcmp(steer_period_name(a->period), text))
			return true;
	return false;
}

static void text_line(const struct steer_saved *s, char *buf, size_t size)
{
	const struct mps_steer_account *a = &s->account;
	char start[40], before[40], seen[40];

	text_date(a->start, start, sizeof(start));
	text_date(a->before_start, before, sizeof(before));
	text_date(a->seen, seen, sizeof(seen));
	snprintf(buf, size, "path %s %s %u %s %llu %llu %s %llu %llu %s", s->name,
		 steer_period_name(a->period), a->day, start, (unsigned long long)a->base[0],
		 (unsigned long long)a->base[1], before, (unsigned long long)a->before[0],
		 (unsigned long long)a->before[1], seen);
}

static bool parse_fields(struct steer_saved *s, const char *line)
{
	struct mps_steer_account *a = &s->account;
	char period[8], start[16], before[16], seen[16];
	unsigned long long bytes[4];
	unsigned int day, i;

	if (sscanf(line, "path %15s %7s %2u %15s %20llu %20llu %15s %20llu %20llu %15s", s->name,
		   period, &day, start, &bytes[0], &bytes[1], before, &bytes[2], &bytes[3],
		   seen) != 10 ||
	    day < 1 || day > 31 || !parse_period(a, period))
		return false;
	for (i = 0; i < 4; i++)
		if (bytes[i] > MAX_BYTES)
			return false;
	a->day = (__u8)day;
	memcpy(a->base, &bytes[0], sizeof(a->base));
	memcpy(a->before, &bytes[2], sizeof(a->before));
	return parse_date(&a->start, start) && parse_date(&a->before_start, before) &&
	       parse_date(&a->seen, seen);
}

/* As it was written, and no other way. */
static bool parse_line(struct steer_saved *s, const char *line)
{
	char again[LINE];

	memset(s, 0, sizeof(*s));
	if (!parse_fields(s, line))
		return false;
	text_line(s, again, sizeof(again));
	return !strcmp(again, line);
}

static bool add_line(struct steer_state *st, const char *line)
{
	if (st->nr == STEER_STATE_MAX || !parse_line(&st->row[st->nr], line) ||
	    steer_state_find(st, st->row[st->nr].name))
		return false;
	st->nr++;
	return true;
}

int steer_state_parse(struct steer_state *st, char *text)
{
	bool begun = false, ended = false;
	int number = 0;
	char *line;

	st->nr = 0;
	while ((line = strsep(&text, "\n"))) {
		number++;
		if (!*line || *line == '#')
			continue;
		if (!begun && strcmp(line, VERSION))
			return strncmp(line, ANY_VERSION, strlen(ANY_VERSION)) ? number : -EPROTO;
		if (begun && !ended && !strcmp(line, END))
			ended = true;
		else if (begun && (ended || !add_line(st, line)))
			return number;
		begun = true;
	}
	return ended ? 0 : -ENODATA;
}

char *steer_state_text(const struct steer_state *st)
{
	char *text = NULL, line[LINE];
	size_t size;
	FILE *f = open_memstream(&text, &size);
	unsigned int i;

	if (!f)
		return NULL;
	fputs(HEAD, f);
	for (i = 0; i < st->nr; i++) {
		text_line(&st->row[i], line, sizeof(line));
		fprintf(f, "%s\n", line);
	}
	fputs(END "\n", f);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

int steer_state_read(struct steer_state *st)
{
	int fd = open(STEER_STATE_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	size_t len;
	char *text;
	int ret;

	st->nr = 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	text = read_most(fd, LIMIT, &len);
	ret = text ? 0 : -errno;
	close(fd);
	if (text)
		ret = strlen(text) == len ? steer_state_parse(st, text) : 1;
	free(text);
	return ret;
}

static int write_all(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		const ssize_t done = write(fd, text, left);

		if (done < 0 && errno != EINTR)
			return -errno;
		text += done > 0 ? done : 0;
		left -= done > 0 ? (size_t)done : 0;
	}
	return fsync(fd) ? -errno : 0;
}

/* A name is on the disk when its folder is. */
static int sync_folder(void)
{
	int fd = open(STEER_STATE_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int ret = fd < 0 || fsync(fd) ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return ret;
}

int steer_state_write(const struct steer_state *st)
{
	char *text = steer_state_text(st);
	int fd, ret;

	if (!text)
		return -ENOMEM;
	mkdir(STEER_STATE_DIR, 0755);
	unlink(STATE_TMP);
	fd = open(STATE_TMP, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	ret = fd < 0 ? -errno : write_all(fd, text);
	free(text);
	if (fd >= 0 && close(fd) && !ret)
		ret = -errno;
	if (!ret && rename(STATE_TMP, STEER_STATE_FILE))
		ret = -errno;
	if (ret)
		unlink(STATE_TMP);
	return ret ?: sync_folder();
}
