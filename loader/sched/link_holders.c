// SPDX-License-Identifier: GPL-2.0
#include <ctype.h>
#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernel/pin.h"
#include "sched/link_holders.h"

/* nftw() has no argument for its callback */
static struct {
	__u32 link_id;
	char *buf;
	size_t size, at;
} search;

static void found(const char *what, const char *where)
{
	if (search.at < search.size)
		search.at += (size_t)snprintf(search.buf + search.at, search.size - search.at,
					      "%s%s %s", search.at ? ", " : "", what, where);
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	if (type == FTW_F && pin_link_id(path) == search.link_id)
		found("the pin", path);
	return 0;
}

static int fdinfo_has_link(const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned int id;
	char line[256];
	int has = 0;

	while (f && !has && fgets(line, sizeof(line), f))
		has = sscanf(line, "link_id: %u", &id) == 1 && id == search.link_id;
	if (f)
		fclose(f);
	return has;
}

static void visit_process(const char *pid)
{
	char path[600];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo", pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", pid, e->d_name);
		if (!fdinfo_has_link(path))
			continue;
		found("process", pid);
		break;
	}
	if (dir)
		closedir(dir);
}

void link_holders(__u32 link_id, char *buf, size_t size)
{
	struct dirent *e;
	DIR *proc;

	search.link_id = link_id;
	search.buf = buf;
	search.size = size;
	search.at = 0;
	*buf = '\0';
	if (!link_id)
		return;
	nftw(BPFFS, visit, 16, FTW_PHYS);
	proc = opendir("/proc");
	while (proc && (e = readdir(proc)))
		if (isdigit((unsigned char)e->d_name[0]))
			visit_process(e->d_name);
	if (proc)
		closedir(proc);
}
