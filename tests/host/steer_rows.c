/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rows of steering's tables as text, without the rest of the command, for test_steer_rows.py. The
 * machine's cgroups and network namespaces are those of the tables here.
 */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <linux/magic.h>
#include "kernel/netns.h"

/* What /sys/fs/cgroup is, for the test to change. */
long cgroup_magic = CGROUP2_SUPER_MAGIC;
unsigned long cgroup_root = 1;
int cgroup_errno;

static const struct {
	const char *path;
	ino_t id;
	mode_t mode;
} tree[] = {
	{ "/a", 10, S_IFDIR },
	{ "/a/cgroup.procs", 11, S_IFREG },
	{ "/a/b", 12, S_IFDIR },
	{ "/a/b/with blank", 13, S_IFDIR },
	{ "/a/b/with#", 14, S_IFDIR },
	{ "/a/b/with blank/c", 15, S_IFDIR },
	{ "/1", 20, S_IFDIR },
	{ "/1/2", 21, S_IFDIR },
	{ "/1/2/3", 22, S_IFDIR },
	{ "/1/2/3/4", 23, S_IFDIR },
	{ "/1/2/3/4/5", 24, S_IFDIR },
	{ "/1/2/3/4/5/6", 25, S_IFDIR },
	{ "/1/2/3/4/5/6/7", 26, S_IFDIR },
	{ "/1/2/3/4/5/6/7/8", 27, S_IFDIR },
	{ "/1/2/3/4/5/6/7/8/9", 28, S_IFDIR },
};

#define NR_TREE (sizeof(tree) / sizeof(tree[0]))

static int its_stat(const char *path, struct stat *st)
{
	const char *below = path + strlen("/sys/fs/cgroup");
	unsigned int i;

	if (!*below) {
		st->st_ino = cgroup_root;
		st->st_mode = S_IFDIR;
		return 0;
	}
	for (i = 0; i < NR_TREE; i++) {
		if (strcmp(tree[i].path, below))
			continue;
		st->st_ino = tree[i].id;
		st->st_mode = tree[i].mode;
		return 0;
	}
	errno = ENOENT;
	return -1;
}

static int its_statfs(const char *path, struct statfs *fs)
{
	fs->f_type = cgroup_magic;
	errno = cgroup_errno;
	return cgroup_errno ? -1 : 0;
}

unsigned int walks;

/* The walk ends behind so many, and this directory cannot be read. */
unsigned int walk_ends;
const char *unreadable = "";

static int type_of(const char *below, mode_t mode)
{
	return !S_ISDIR(mode) ? FTW_F : strcmp(below, unreadable) ? FTW_D : FTW_DNR;
}

static int its_nftw(const char *top,
		    int (*visit)(const char *, const struct stat *, int, struct FTW *))
{
	char path[300];
	struct stat st;
	unsigned int i;

	walks++;
	its_stat(top, &st);
	visit(top, &st, FTW_D, NULL);
	for (i = 0; i < (walk_ends ?: NR_TREE); i++) {
		snprintf(path, sizeof(path), "%s%s", top, tree[i].path);
		its_stat(path, &st);
		visit(path, &st, type_of(tree[i].path, st.st_mode), NULL);
	}
	return walk_ends ? -1 : 0;
}

/* Only where they are called: the structs keep their names. */
#define stat(path, st) its_stat(path, st)
#define statfs(path, fs) its_statfs(path, fs)
#define nftw(top, visit, fds, flags) its_nftw(top, visit)

#include "../../loader/cli/steer_mode.c"
#include "../../loader/sched/steer_values.c"
#include "../../loader/sched/steer_objects.c"
#include "../../loader/sched/steer_rows.c"
#include "../../loader/sched/steer_fields.c"
#include "../../loader/sched/steer_paths.c"

static char said[2000], hinted[2000];

enum exit_code fail(enum exit_code code, const char *hint, const char *why, ...)
{
	va_list args;

	snprintf(hinted, sizeof(hinted), "%s", hint ?: "");
	va_start(args, why);
	vsnprintf(said, sizeof(said), why, args);
	va_end(args);
	return code;
}

enum exit_code code_of(int errnum)
{
	return errnum == EACCES ? EX_PERMISSION : EX_FAILED;
}

void *grow(void *array, unsigned int used, size_t size)
{
	return realloc(array, (used + 1) * size);
}

void out_of_memory(void)
{
	abort();
}

/* Whether this process may look at all processes. */
bool may_look = true;

unsigned int caps_missing(unsigned int needs, char *names, size_t size)
{
	return !may_look;
}

const char *caps_hint(int err, enum cap_need need)
{
	return err == EACCES ? "run it as root" : NULL;
}

static struct netns namespaces[] = {
	{ .ino = 100, .name = "blue", .path = "/run/netns/blue" },
	{ .ino = 101, .name = "a b", .path = "/run/netns/a b" },
	{ .ino = 102, .name = "c#", .path = "/run/netns/c#" },
	{ .ino = 103, .name = "77", .path = "/run/netns/77", .pid = 5 },
	{ .ino = 104, .path = "/var/run/docker/netns/x", .pid = 6 },
	{ .ino = 105, .path = "/proc/7/ns/net", .pid = 7 },
	{ .ino = 106, .name = "mode", .path = "/run/netns/mode" },
	{ .ino = 107, .path = "/proc/self/ns/net", .pid = 9, .self = true },
	{ .ino = 108, .name = "net:[100]", .path = "/run/netns/net:[100]" },
};

#define NR_NAMESPACES (sizeof(namespaces) / sizeof(namespaces[0]))

void netns_names(struct netns_list *l)
{
	walks++;
}

struct netns *netns_find(const struct netns_list *l, ino_t ino)
{
	unsigned int i;

	for (i = 0; i < NR_NAMESPACES; i++)
		if (namespaces[i].ino == ino)
			return &namespaces[i];
	return NULL;
}

bool netns_is_text(const char *text)
{
	return *text && strlen(text) < 256;
}

/* A name before a number, as the true one. */
int netns_look(struct netns *ns, const char *text)
{
	unsigned int i;

	memset(ns, 0, sizeof(*ns));
	for (i = 0; i < NR_NAMESPACES; i++) {
		if (strcmp(namespaces[i].name, text) && strcmp(namespaces[i].path, text))
			continue;
		ns->ino = namespaces[i].ino;
		return 0;
	}
	for (i = 0; i < NR_NAMESPACES; i++) {
		if (!namespaces[i].pid || namespaces[i].pid != atoi(text))
			continue;
		ns->ino = namespaces[i].ino;
		ns->pid = namespaces[i].pid;
		return 0;
	}
	return !strcmp(text, "1") ? -EACCES : strchr(text, '/') ? -EINVAL : -ENOENT;
}

static union row {
	struct mps_steer_rule rule;
	struct mps_steer_path path;
} rows[2];

static unsigned int split(char *line, const char **word, unsigned int most)
{
	char *save = NULL, *next;
	unsigned int nr = 0;

	for (next = strtok_r(line, " ", &save); next && nr < most;
	     next = strtok_r(NULL, " ", &save))
		word[nr++] = next;
	return nr;
}

/* Reads a line into row `at`, and its text into buf where it is one. usage: the code for words. */
int row(unsigned int at, bool path, const char *line, int usage, char *buf, size_t size)
{
	const struct steer_kind *k = path ? &steer_path_kind : &steer_rule_kind;
	const char *word[64];
	enum exit_code ret;
	char copy[4096];

	snprintf(copy, sizeof(copy), "%s", line);
	*buf = said[0] = hinted[0] = '\0';
	ret = steer_read(k, (enum exit_code)usage, &rows[at], word, split(copy, word, 64));
	if (ret == EX_OK)
		steer_write(k, &rows[at], buf, size);
	return (int)ret;
}

const char *why(void)
{
	return said;
}

const char *hint(void)
{
	return hinted;
}

bool covers(bool path)
{
	return path ? steer_covers_path(&rows[0].path, &rows[1].path)
		    : steer_covers_rule(&rows[0].rule, &rows[1].rule);
}

/* Are the ends of row 0 of two families? */
bool ends_differ(bool path)
{
	return steer_ends_differ(path ? &rows[0].path.ends : &rows[0].rule.ends);
}

/* Row 0 against a connection of these words: how the command ends. */
int compare(const char *line, struct steer_compared *c)
{
	struct steer_asked asked;
	const char *word[64];
	enum exit_code ret;
	char copy[4096];

	snprintf(copy, sizeof(copy), "%s", line);
	said[0] = '\0';
	ret = steer_ask(&asked, word, split(copy, word, 64));
	if (ret == EX_OK)
		steer_compare(c, &rows[0].rule, &asked);
	if (ret == EX_OK && !*c->depends &&
	    mps_match_rule(&rows[0].rule, &asked.key) == !!*c->differs)
		abort();
	return (int)ret;
}

bool object_is_there(bool cgroup, unsigned int number)
{
	return cgroup ? cgroup_is_there(number) : netns_is_there(number);
}

const char *text_of_cgroup(unsigned int number)
{
	static char text[STEER_TEXT];

	text_cgroup(number, text, sizeof(text));
	return text;
}

/* A member of row 0 as JSON has it. */
__u64 number_of(bool path, const char *field, unsigned int part)
{
	const struct steer_kind *k = path ? &steer_path_kind : &steer_rule_kind;

	return steer_number(find(k, field), &rows[0], part);
}
