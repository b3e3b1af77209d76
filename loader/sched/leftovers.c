// SPDX-License-Identifier: GPL-2.0
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli/output.h"
#include "kernel/kern.h"
#include "kernel/pin.h"
#include "sched/leftovers.h"

#define MAX_NOTED 16

static bool is_known(char (*names)[MPS_NAME_LEN], unsigned int n, const char *name)
{
	while (n--)
		if (!strcmp(names[n], name))
			return true;
	return false;
}

unsigned int leftovers(struct registry *r, char (*names)[MPS_NAME_LEN], unsigned int max)
{
	DIR *dir = opendir(PIN_DIR);
	char name[MPS_NAME_LEN];
	unsigned int n = 0;
	struct dirent *e;

	while (dir && n < max && (e = readdir(dir))) {
		const char *mark = strchr(e->d_name, AUX_MARK);

		if (!mark || mark == e->d_name || mark - e->d_name >= MPS_NAME_LEN)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(mark - e->d_name), e->d_name);
		if (!registry_find(r, name) && !is_known(names, n, name))
			memcpy(names[n++], name, sizeof(name));
	}
	if (dir)
		closedir(dir);
	return n;
}

void leftovers_note(struct registry *r)
{
	char names[MAX_NOTED][MPS_NAME_LEN];
	unsigned int i, n = leftovers(r, names, MAX_NOTED);

	for (i = 0; i < n; i++)
		output_note(
			"a program of %s is attached without its scheduler, as a `load` that was "
			"ended in its midst leaves it: `" PROGRAM
			" unload %s` removes it, or the next `load`",
			names[i], names[i]);
}

void leftovers_remove(const char *name)
{
	const size_t len = strlen(name);
	DIR *dir = kern_has_sched(name) ? NULL : opendir(PIN_DIR);
	unsigned int n = 0;
	struct dirent *e;
	char path[512];

	while (dir && (e = readdir(dir))) {
		if (strncmp(e->d_name, name, len) || e->d_name[len] != AUX_MARK)
			continue;
		snprintf(path, sizeof(path), PIN_DIR "/%s", e->d_name);
		/* and not whatever somebody has put in its place */
		n += pin_is_link(path) && !unlink(path);
	}
	if (dir)
		closedir(dir);
	if (n)
		output_note(
			"a program of %s was attached without its scheduler, as a `load` that was "
			"ended in its midst leaves it; it is removed",
			name);
}
