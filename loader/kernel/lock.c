// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include "cli/caps.h"
#include "cli/util.h"
#include "kernel/lock.h"

#define HOLDER_LEN 300
#define POLL_LOCK_MS 50

/* For whoever waits: this process and its words. */
static void note_holder(int fd)
{
	char words[HOLDER_LEN - 32], line[HOLDER_LEN];
	int from = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t i, n = from < 0 ? 0 : read(from, words, sizeof(words));
	int len;

	if (from >= 0)
		close(from);
	for (i = 0; i < n; i++)
		if ((unsigned char)words[i] < ' ')
			words[i] = ' ';
	while (n > 0 && words[n - 1] == ' ')
		n--;
	len = snprintf(line, sizeof(line), "pid %d, %.*s\n", getpid(), n > 0 ? (int)n : 0, words);
	/* without it the lock holds as well, it only has no name */
	if (ftruncate(fd, 0) || pwrite(fd, line, (size_t)len, 0) != len)
		return;
}

static enum exit_code taken(int fd, double seconds)
{
	char holder[HOLDER_LEN] = "";
	ssize_t n = pread(fd, holder, sizeof(holder) - 1, 0);

	holder[n > 0 ? strcspn(holder, "\n") : 0] = '\0';
	return fail(EX_FAILED, "try again when it has ended, or wait longer (--timeout SECONDS)",
		    "another command is changing schedulers and was not done within %g s (%s)",
		    seconds, *holder ? holder : "its name is not known yet");
}

enum exit_code lock_take(double seconds)
{
	double waited = 0;
	int fd;

	if (mkdir(LOCK_DIR, 0700) && errno != EEXIST)
		return fail(code_of(errno), caps_hint(errno, CAP_NEED_PINS),
			    "cannot make " LOCK_DIR ": %s", strerror(errno));
	fd = open(LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail(code_of(errno), caps_hint(errno, CAP_NEED_PINS),
			    "cannot open " LOCK_FILE ": %s", strerror(errno));
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		enum exit_code ret;

		if (errno == EINTR)
			continue;
		if (errno == EWOULDBLOCK && waited < seconds) {
			sleep_ms(POLL_LOCK_MS);
			waited += POLL_LOCK_MS / 1000.0;
			continue;
		}
		ret = errno == EWOULDBLOCK ? taken(fd, seconds)
					   : fail(code_of(errno), NULL,
						  "cannot lock " LOCK_FILE ": %s", strerror(errno));
		close(fd);
		return ret;
	}
	note_holder(fd);
	/* stays open: the lock goes with the process */
	return EX_OK;
}
