// SPDX-License-Identifier: GPL-2.0
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include "cli/util.h"
#include "kernel/pin.h"
#include "sched/pindir.h"

/* The device of the BPF file system that the first process has there; 0: none, or not known. */
static dev_t first_process_bpffs(void)
{
	FILE *file = fopen("/proc/1/mountinfo", "re");
	char *line = NULL, *type, where[256];
	unsigned int major, minor;
	dev_t found = 0;
	size_t size = 0;

	while (file && getline(&line, &size, file) >= 0) {
		if (sscanf(line, "%*d %*d %u:%u %*s %255s", &major, &minor, where) != 3 ||
		    strcmp(where, BPFFS))
			continue;
		/* the last one lies over the others */
		type = strstr(line, " - ");
		found = type && !strncmp(type + 3, "bpf ", 4) ? makedev(major, minor) : 0;
	}
	if (file)
		fclose(file);
	free(line);
	return found;
}

bool pindir_out_of_sight(void)
{
	static bool looked, hidden;
	struct stat st;
	dev_t first;

	if (looked)
		return hidden;
	looked = true;
	first = first_process_bpffs();
	hidden = first && (stat(BPFFS, &st) || st.st_dev != first);
	return hidden;
}

static bool trouble(struct trouble *t, const char *todo, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static bool trouble(struct trouble *t, const char *todo, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->why, sizeof(t->why), fmt, ap);
	va_end(ap);
	snprintf(t->todo, sizeof(t->todo), "%s", todo);
	return false;
}

/* Who else may write there can put a pin in place of ours. */
static bool is_ours_alone(struct trouble *t, const struct stat *st)
{
	char todo[100];

	if (st->st_uid && st->st_uid != geteuid()) {
		snprintf(todo, sizeof(todo), "`chown %u " PIN_DIR "` takes it over",
			 (unsigned int)geteuid());
		return trouble(t, todo, PIN_DIR " belongs to another user (uid %u)",
			       (unsigned int)st->st_uid);
	}
	if (st->st_mode & 077)
		return trouble(t, "`chmod 700 " PIN_DIR "` closes it",
			       PIN_DIR " is open to other users (mode %o)", st->st_mode & 07777);
	return true;
}

bool pindir_usable(struct trouble *t)
{
	const bool mounted = is_bpffs(BPFFS);
	struct statvfs fs;
	struct stat st;

	if (pindir_out_of_sight())
		return trouble(t, HINT_OUTSIDE, "%s",
			       mounted ? BPFFS " is a bpffs of this mount namespace alone, as in "
					       "`ip netns exec`: what is pinned there goes with it"
				       : BPFFS " is not a bpffs in this mount namespace, as in "
					       "`ip netns exec`");
	if (!mounted)
		return trouble(t, "`mount -t bpf bpf " BPFFS "` mounts it",
			       BPFFS " is not a bpffs");
	if (!statvfs(BPFFS, &fs) && fs.f_flag & ST_RDONLY)
		return trouble(t, "`mount -o remount,rw " BPFFS "`", BPFFS " is read-only");
	if (!is_there(PIN_DIR))
		return true;
	if (!is_bpffs(PIN_DIR))
		return trouble(t, "unmount what lies over it", PIN_DIR " is not in a bpffs");
	return stat(PIN_DIR, &st) || is_ours_alone(t, &st);
}

enum exit_code pindir_require(void)
{
	struct trouble t;

	if (pindir_usable(&t))
		return EX_OK;
	return fail(EX_FAILED, t.todo, "%s", t.why);
}
