// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <linux/magic.h>
#include "cli/caps.h"
#include "cli/util.h"
#include "kernel/netns.h"
#include "sched/steer_fields.h"
#include "sched/steer_objects.h"

#define CGROUPS "/sys/fs/cgroup"
#define CGROUP_ROOT 1 /* the id of the hierarchy's root, whoever looks */
#define ID_MARK "id:"
#define NETNS_MARK "net:["

static struct cgroup {
	__u64 id;
	char *path;
} *cgroups;
static unsigned int nr_cgroups;
static bool all_seen;

/* Levels are counted from the root of the hierarchy, and ids are those of cgroup v2. */
static bool is_root_of_all(struct steer_why *why)
{
	const char *hint = "`mount -t cgroup2` says where it is";
	struct statfs fs;
	struct stat st;

	if (statfs(CGROUPS, &fs) || stat(CGROUPS, &st))
		return value_absent(why, code_of(errno), hint, CGROUPS ": %s", strerror(errno));
	if (fs.f_type != CGROUP2_SUPER_MAGIC)
		return value_absent(why, EX_FAILED, hint, CGROUPS " is not of cgroup v2");
	if (st.st_ino != CGROUP_ROOT)
		return value_absent(why, EX_FAILED, "run it outside of that",
				    CGROUPS " is that of a cgroup namespace, below the root");
	return true;
}

static int note_cgroup(const char *path, const struct stat *st, int type, struct FTW *at)
{
	const char *below = path + strlen(CGROUPS);

	/* what is in it, or what it is, cannot be looked at */
	if (type == FTW_DNR || type == FTW_NS)
		all_seen = false;
	if (type != FTW_D && type != FTW_DNR)
		return 0;
	cgroups = grow(cgroups, nr_cgroups, sizeof(*cgroups));
	cgroups[nr_cgroups].id = st->st_ino;
	cgroups[nr_cgroups].path = strdup(*below ? below : "/");
	if (!cgroups[nr_cgroups++].path)
		out_of_memory();
	return 0;
}

/* A walk ends at a directory that goes meanwhile. */
static void walk(void)
{
	struct steer_why why;

	all_seen = is_root_of_all(&why);
	if (all_seen && nftw(CGROUPS, note_cgroup, 16, FTW_PHYS | FTW_MOUNT))
		all_seen = false;
}

static const struct cgroup *find_cgroup(__u64 id)
{
	static bool looked;
	unsigned int i;

	if (!looked)
		walk();
	looked = true;
	for (i = 0; i < nr_cgroups; i++)
		if (cgroups[i].id == id)
			return &cgroups[i];
	return NULL;
}

bool cgroup_is_there(__u64 id)
{
	return find_cgroup(id) || !all_seen;
}

void text_cgroup(__u64 id, char *buf, size_t size)
{
	const struct cgroup *found = find_cgroup(id);

	if (found && value_is_word(found->path, STEER_TEXT, "#"))
		snprintf(buf, size, "%s", found->path);
	else
		snprintf(buf, size, ID_MARK "%llu", (unsigned long long)id);
}

/* The cgroup at each part of the path; false with why. */
static bool ids_of_path(__u64 *ids, unsigned int *level, const char *named, struct steer_why *why)
{
	char path[PATH_MAX] = CGROUPS, rest[PATH_MAX], *word, *save = NULL;
	unsigned int n = 0;
	struct stat st;

	if (strlen(named) + sizeof(CGROUPS) + 1 >= PATH_MAX)
		return value_wrong(why, "the path is too long");
	snprintf(rest, sizeof(rest), "%s", named);
	for (word = strtok_r(rest, "/", &save); word; word = strtok_r(NULL, "/", &save)) {
		size_t at = strlen(path);

		if (!strcmp(word, ".") || !strcmp(word, ".."))
			return value_wrong(why, "the path of a cgroup has no . and ..: %s", named);
		if (n == MPS_STEER_LEVELS)
			return value_wrong(
				why, "no more than %u levels below " CGROUPS " can be matched",
				MPS_STEER_LEVELS);
		snprintf(path + at, sizeof(path) - at, "/%s", word);
		if (stat(path, &st))
			return value_absent(why, code_of(errno), "`systemd-cgls` shows all of them",
					    "there is no cgroup %s: %s", path, strerror(errno));
		if (!S_ISDIR(st.st_mode))
			return value_absent(why, EX_FAILED, NULL, "there is no cgroup %s", path);
		ids[n++] = st.st_ino;
	}
	if (!n)
		return value_wrong(why, "every process is in the root of cgroups");
	*level = n - 1;
	return true;
}

static bool ids_of_id(__u64 *ids, unsigned int *level, const char *text, struct steer_why *why)
{
	const struct cgroup *found;

	if (!value_number(&ids[0], text, CGROUP_ROOT + 1, ~0ULL, why))
		return false;
	found = find_cgroup(ids[0]);
	return !found || ids_of_path(ids, level, found->path, why);
}

bool value_cgroup(__u64 *ids, unsigned int *level, const char *text, struct steer_why *why)
{
	memset(ids, 0, MPS_STEER_LEVELS * sizeof(*ids));
	*level = 0;
	if (!strncmp(text, ID_MARK, strlen(ID_MARK)))
		return ids_of_id(ids, level, text + strlen(ID_MARK), why);
	if (!strncmp(text, CGROUPS "/", strlen(CGROUPS "/")))
		text += strlen(CGROUPS);
	return is_root_of_all(why) && ids_of_path(ids, level, text, why);
}

static const struct netns *find_netns(__u32 inode)
{
	static struct netns_list all;
	static bool looked;

	if (!looked)
		netns_names(&all);
	looked = true;
	return netns_find(&all, inode);
}

bool netns_is_there(__u32 inode)
{
	char missing[100];

	return find_netns(inode) || caps_missing(CAP_BIT(PROCESSES), missing, sizeof(missing));
}

/* Is that what the text means? What leads through a process ends with it. */
static bool names_it(const char *text, __u32 inode)
{
	struct netns ns;

	return value_is_word(text, STEER_TEXT, "#") && strncmp(text, "/proc/", 6) &&
	       strncmp(text, NETNS_MARK, strlen(NETNS_MARK)) && !netns_look(&ns, text) &&
	       ns.ino == inode;
}

void text_netns(__u32 inode, char *buf, size_t size)
{
	const struct netns *ns = find_netns(inode);

	if (ns && names_it(ns->name, inode))
		snprintf(buf, size, "%s", ns->name);
	else if (ns && names_it(ns->path, inode))
		snprintf(buf, size, "%s", ns->path);
	else
		snprintf(buf, size, NETNS_MARK "%u]", inode);
}

/* As the link in /proc/PID/ns says it. */
static bool value_inode(__u32 *inode, const char *text, struct steer_why *why)
{
	const size_t len = strlen(text);
	char digits[32];
	__u64 number;

	snprintf(digits, sizeof(digits), "%s", text);
	if (len && len < sizeof(digits) && text[len - 1] == ']') {
		digits[len - 1] = '\0';
		if (value_number(&number, digits, 1, ~0U, why)) {
			*inode = (__u32)number;
			return true;
		}
	}
	return value_wrong(why, "not the inode of a network namespace: " NETNS_MARK "%s", text);
}

bool value_netns(__u32 *inode, const char *text, struct steer_why *why)
{
	struct netns ns;
	int err;

	if (!strncmp(text, NETNS_MARK, strlen(NETNS_MARK)))
		return value_inode(inode, text + strlen(NETNS_MARK), why);
	if (!netns_is_text(text))
		return value_wrong(why, "not a network namespace: %s", text);
	err = netns_look(&ns, text);
	if (err == -EINVAL)
		return value_absent(why, EX_FAILED, HINT_NETNS, "not a network namespace: %s",
				    text);
	if (err == -ENOENT || err == -ESRCH)
		return value_absent(why, EX_FAILED, HINT_NETNS, "no network namespace %s", text);
	if (err)
		return value_absent(why, code_of(-err),
				    caps_hint(-err, CAP_NEED_PROCESSES) ?: HINT_NETNS, "%s: %s",
				    text, strerror(-err));
	*inode = (__u32)ns.ino;
	return true;
}
