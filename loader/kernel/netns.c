// SPDX-License-Identifier: GPL-2.0
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include "cli/caps.h"
#include "cli/input.h"
#include "cli/util.h"
#include "kernel/kern.h"
#include "kernel/netns.h"

#define SELF "/proc/self/ns/net"
#define FIRST "/proc/1/ns/net"
#define SCHED_SYSCTL SYSCTL_DIR "/scheduler"

static bool is_of_nsfs(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == NSFS_MAGIC;
}

/*
 * An open namespace, or a negative errno: -EINVAL where it is none of the net. Does not wait for
 * what opens a FIFO's other end, and asks nothing of devices.
 */
static int open_netns(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENXIO ? -EINVAL : -errno;
	if (is_of_nsfs(fd) && ioctl(fd, NS_GET_NSTYPE) == CLONE_NEWNET)
		return fd;
	close(fd);
	return -EINVAL;
}

/* /proc/sys/net shows the namespace of the task that opens it. */
static int open_sysctl(int flags)
{
	int fd = open(SCHED_SYSCTL, flags | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Some socket of the namespace. */
static int open_socket(int flags)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | flags, 0);

	return fd < 0 ? -errno : fd;
}

static ino_t inode_of_fd(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}

/* Enter, open, return. The path of a process may lead elsewhere by now. */
int netns_open(const struct netns *ns, int (*open_it)(int flags), int flags)
{
	int self, there, fd = -1, err = 0;

	if (ns->self)
		return open_it(flags);
	there = open_netns(ns->path);
	if (there < 0)
		return there;
	if (ns->ino && inode_of_fd(there) != ns->ino) {
		close(there);
		return -ESRCH;
	}
	self = open(SELF, O_RDONLY | O_CLOEXEC);
	if (self < 0 || setns(there, CLONE_NEWNET)) {
		err = -errno;
	} else {
		fd = open_it(flags);
		if (fd < 0)
			err = fd;
		/* going on in a foreign namespace would do harm */
		if (setns(self, CLONE_NEWNET))
			abort();
	}
	if (self >= 0)
		close(self);
	close(there);
	return err ? err : fd;
}

int netns_get_sched(const struct netns *ns, char *name)
{
	char buf[64];
	int fd = netns_open(ns, open_sysctl, O_RDONLY), err;

	err = fd < 0 ? fd : read_line_fd(fd, buf, sizeof(buf));
	if (err)
		return err;
	snprintf(name, MPS_NAME_LEN, "%.*s", MPS_NAME_LEN - 1, buf);
	return 0;
}

int netns_set_sched(const struct netns *ns, const char *name)
{
	int fd = netns_open(ns, open_sysctl, O_WRONLY), err = 0;
	ssize_t len = (ssize_t)strlen(name);

	if (fd < 0)
		return fd;
	if (write(fd, name, (size_t)len) != len)
		err = -errno;
	close(fd);
	return err;
}

int netns_cookie(const struct netns *ns, __u64 *cookie)
{
	int fd = netns_open(ns, open_socket, 0), err = 0;
	socklen_t len = sizeof(*cookie);

	if (fd < 0)
		return fd;
	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, cookie, &len))
		err = -errno;
	close(fd);
	return err;
}

static ino_t inode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_ino;
}

bool netns_is_hosts(const struct netns *ns)
{
	return ns->ino == (inode_of(FIRST) ?: inode_of(SELF));
}

bool netns_is_gone(const struct netns *ns)
{
	return inode_of(ns->path) != ns->ino;
}

/* Where the inode is in the table, or where it would go: a slot holds an index plus one. */
static unsigned int slot_of(const struct netns_list *l, ino_t ino)
{
	const unsigned int mask = l->nr_slots - 1;
	unsigned int at = (unsigned int)ino & mask;

	while (l->slot[at] && l->ns[l->slot[at] - 1].ino != ino)
		at = (at + 1) & mask;
	return at;
}

struct netns *netns_find(const struct netns_list *l, ino_t ino)
{
	unsigned int found = l->nr_slots ? l->slot[slot_of(l, ino)] : 0;

	return found ? &l->ns[found - 1] : NULL;
}

/* Never more than half full, so that a look into it takes a step or two. */
static void more_slots(struct netns_list *l)
{
	unsigned int i;

	if (2 * l->nr < l->nr_slots)
		return;
	free(l->slot);
	l->nr_slots = l->nr_slots ? 2 * l->nr_slots : 64;
	l->slot = calloc(l->nr_slots, sizeof(*l->slot));
	if (!l->slot)
		out_of_memory();
	for (i = 0; i < l->nr; i++)
		l->slot[slot_of(l, l->ns[i].ino)] = i + 1;
}

static struct netns *add(struct netns_list *l, const char *path)
{
	ino_t ino = inode_of(path);
	struct netns *ns = ino ? netns_find(l, ino) : NULL;
	int fd;

	if (ns || !ino)
		return ns;
	/* a file in /run/netns may be a left-over without a namespace on it */
	fd = open_netns(path);
	if (fd < 0)
		return NULL;
	close(fd);
	more_slots(l);
	l->ns = grow(l->ns, l->nr, sizeof(*l->ns));
	l->slot[slot_of(l, ino)] = l->nr + 1;
	ns = &l->ns[l->nr++];
	memset(ns, 0, sizeof(*ns));
	ns->ino = ino;
	snprintf(ns->path, sizeof(ns->path), "%s", path);
	return ns;
}

static void add_named(struct netns_list *l)
{
	DIR *dir = opendir(NETNS_DIR);
	struct dirent *e;
	char path[280];

	while (dir && (e = readdir(dir))) {
		struct netns *ns;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), NETNS_DIR "/%s", e->d_name);
		ns = add(l, path);
		if (ns)
			snprintf(ns->name, sizeof(ns->name), "%s", e->d_name);
	}
	if (dir)
		closedir(dir);
}

/* Without a name of `ip netns`: bind mounts, as runtimes make them. */
static void add_of_mounts(struct netns_list *l)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, root[64], path[256];
	size_t size = 0;

	while (file && getline(&line, &size, file) >= 0)
		if (sscanf(line, "%*d %*d %*s %63s %255s", root, path) == 2 &&
		    !strncmp(root, "net:[", 5))
			add(l, path);
	if (file)
		fclose(file);
	free(line);
}

static void add_of_processes(struct netns_list *l)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	char path[280];

	while (dir && (e = readdir(dir))) {
		struct netns *ns;

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/ns/net", e->d_name);
		ns = add(l, path);
		if (ns && !ns->pid)
			ns->pid = atoi(e->d_name);
	}
	if (dir)
		closedir(dir);
}

void netns_names(struct netns_list *l)
{
	struct netns *self;

	memset(l, 0, sizeof(*l));
	self = add(l, SELF);
	if (self)
		self->self = true;
	add_named(l);
	add_of_mounts(l);
	/* last: a path stays when a process ends */
	add_of_processes(l);
}

void netns_read(struct netns_list *l)
{
	unsigned int i;

	netns_names(l);
	for (i = 0; i < l->nr; i++)
		if (netns_get_sched(&l->ns[i], l->ns[i].sched))
			l->ns[i].sched[0] = '\0';
}

void netns_free(struct netns_list *l)
{
	free(l->ns);
	free(l->slot);
	memset(l, 0, sizeof(*l));
}

const char *netns_label(const struct netns *ns, char *buf, size_t size)
{
	if (*ns->name)
		snprintf(buf, size, "%s", ns->name);
	else if (ns->self)
		snprintf(buf, size, "(this one)");
	else if (ns->pid)
		snprintf(buf, size, "(pid %d)", ns->pid);
	else
		snprintf(buf, size, "(inode %lu)", (unsigned long)ns->ino);
	return buf;
}

/* A name wins over a number, so that a namespace called 12 can be meant. */
static void path_of(struct netns *ns, const char *text)
{
	struct stat st;

	if (strchr(text, '/')) {
		snprintf(ns->path, sizeof(ns->path), "%s", text);
		return;
	}
	snprintf(ns->path, sizeof(ns->path), NETNS_DIR "/%s", text);
	if (*text && strspn(text, "0123456789") == strlen(text) && stat(ns->path, &st)) {
		ns->pid = atoi(text);
		snprintf(ns->path, sizeof(ns->path), "/proc/%s/ns/net", text);
	} else {
		snprintf(ns->name, sizeof(ns->name), "%s", text);
	}
}

/* What the path leads to instead. */
static enum exit_code not_a_netns(const struct netns *ns, const char *hint)
{
	struct statfs fs;
	struct stat st;

	if (stat(ns->path, &st) || (!statfs(ns->path, &fs) && fs.f_type == NSFS_MAGIC))
		return fail_on(EX_FAILED, ns->path, hint, "not a network namespace");
	return fail_on(EX_FAILED, ns->path, hint, "it is %s, not a network namespace",
		       file_kind(st.st_mode));
}

bool netns_is_text(const char *text)
{
	return *text && strlen(text) < sizeof(((struct netns *)0)->name);
}

int netns_look(struct netns *ns, const char *text)
{
	int fd;

	memset(ns, 0, sizeof(*ns));
	if (text)
		path_of(ns, text);
	else
		snprintf(ns->path, sizeof(ns->path), SELF);
	fd = open_netns(ns->path);
	if (fd < 0)
		return fd;
	ns->ino = inode_of_fd(fd);
	ns->self = ns->ino == inode_of(SELF);
	close(fd);
	return 0;
}

enum exit_code netns_resolve(struct netns *ns, const char *text)
{
	int err;

	if (text && !netns_is_text(text))
		return fail_on(EX_USAGE, "--netns", HINT_NETNS, "not a namespace: %s", text);
	err = netns_look(ns, text);
	if (err == -EINVAL)
		return not_a_netns(ns, HINT_NETNS);
	if (err == -ENOENT || err == -ESRCH)
		return fail_on(EX_FAILED, text ? text : SELF, HINT_NETNS,
			       "no such network namespace");
	if (err)
		return fail_on(code_of(-err), ns->path,
			       caps_hint(-err, CAP_NEED_PROCESSES) ?: HINT_NETNS, "%s",
			       strerror(-err));
	return EX_OK;
}
