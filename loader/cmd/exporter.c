// SPDX-License-Identifier: GPL-2.0
/*
 * Starts the exporter, which is a program of its own (loader/exporter/): the library that
 * serves HTTP would cost each of the other commands memory. It lies where `make install` puts
 * it, as seen from this program, or beside it where that was not installed.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cmd/commands.h"

#define EXPORTER "mptcp-sched-exporter"

enum exit_code cmd_exporter(const struct args *args)
{
	ERROR_ABOUT("start", "exporter");
	static const char *const places[] = { "/../lib/mptcp-sched/" EXPORTER, "/" EXPORTER };
	char self[PATH_MAX] = "", path[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	unsigned int i;

	if (n <= 0)
		return fail(code_of(errno), "is /proc mounted?", "/proc/self/exe: %s",
			    strerror(errno));
	*strrchr(self, '/') = '\0';
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", self, places[i]);
		execv(path, args->argv);
		if (errno != ENOENT)
			break;
	}
	return fail(code_of(errno), "`make install` puts it there", "%s: %s", path,
		    strerror(errno));
}
