// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "kernel/lock.h"
#include "sched/steer_saver.h"

/* Gone at a boot, as the clock that it is of. */
#ifndef STAMP
#define STAMP LOCK_DIR "/saved"
#endif
/* Overwritten in place, so that no reader finds less than a number. */
#define STAMP_FORMAT "%019lld\n"

/* A minute, as long again for a machine that is slow, and one more. */
#define PATIENCE 180

#ifndef SYSTEMD
#define SYSTEMD "/run/systemd/system"
#define WANTED_IN "/etc/systemd/system", SYSTEMD, "/usr/lib/systemd/system"
#endif

static long long seconds(clockid_t clock)
{
	struct timespec ts;

	return clock_gettime(clock, &ts) ? 0 : ts.tv_sec;
}

/* Of this clock a machine that sleeps knows nothing, and that is no minute without a save. */
static long long now(void)
{
	return seconds(CLOCK_MONOTONIC);
}

void steer_saver_was_here(void)
{
	int fd = open(STAMP, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);

	if (fd < 0)
		return;
	dprintf(fd, STAMP_FORMAT, now());
	close(fd);
}

/* Was it within the last minutes, as far as this user may know? */
static bool was_here(void)
{
	int fd = open(STAMP, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char text[32] = "";
	long long ago;
	ssize_t len;

	if (fd < 0)
		return errno != ENOENT;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	/* one from ahead of now is of another time namespace */
	ago = now() - strtoll(text, NULL, 10);
	return len > 0 && ago >= 0 && ago < PATIENCE;
}

/* The timer, which does not run the command until the scheduler is loaded. */
static bool is_enabled(void)
{
	static const char *const folders[] = { WANTED_IN };
	char path[200];
	struct stat st;
	unsigned int i;

	if (stat(SYSTEMD, &st))
		return false;
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/timers.target.wants/" STEER_TIMER, folders[i]);
		if (!lstat(path, &st))
			return true;
	}
	return false;
}

/* When a machine has just booted a crontab has not had its minute. */
static bool is_too_early(const struct steer_table *s)
{
	return now() < PATIENCE || (is_enabled() && seconds(CLOCK_BOOTTIME) - s->loaded < PATIENCE);
}

const struct mps_steer_path *steer_capped(const struct steer_table *s)
{
	unsigned int i;

	for (i = 0; i < s->t->nr_paths; i++)
		if (s->t->path[i].account.cap)
			return &s->t->path[i];
	return NULL;
}

const struct mps_steer_path *steer_saver_misses(const struct steer_table *s)
{
	const struct mps_steer_path *p = steer_capped(s);

	return !p || was_here() || is_too_early(s) ? NULL : p;
}
