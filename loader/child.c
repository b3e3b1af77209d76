// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include "child.h"
#include "util.h"

bool find_tool(const char *name, char *buf, size_t size)
{
	char path[1024], *save = NULL, *dir;

	snprintf(path, sizeof(path), "%s:/usr/sbin:/sbin:/usr/bin",
		 getenv("PATH") ? getenv("PATH") : "");
	for (dir = strtok_r(path, ":", &save); dir; dir = strtok_r(NULL, ":", &save)) {
		snprintf(buf, size, "%s/%s", dir, name);
		if (!access(buf, X_OK))
			return true;
	}
	return false;
}

/* Ends it where it takes longer. */
static int await(pid_t pid, unsigned int timeout_ms, int *status)
{
	int fd = pidfd_open(pid, 0), err = fd < 0 ? -errno : 0;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n = err ? 0 : poll(&p, 1, (int)timeout_ms);

	if (!n && !err)
		err = -ETIME;
	if (err)
		kill(pid, SIGKILL);
	if (fd >= 0)
		close(fd);
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return err;
}

static void last_line(int fd, char *line, size_t size)
{
	size_t len = 0;
	char *text = read_all(fd, &len), *nl;

	*line = '\0';
	while (text && len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		text[--len] = '\0';
	nl = text ? strrchr(text, '\n') : NULL;
	if (text)
		snprintf(line, size, "%s", nl ? nl + 1 : text);
	free(text);
}

/* Files and not pipes, so that nobody has to read while it runs. */
static int spawn(pid_t *pid, const char *path, char *const argv[], int out, int errors)
{
	posix_spawn_file_actions_t files;
	int err = posix_spawn_file_actions_init(&files);

	if (err)
		return -err;
	err = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&files, out, 1);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&files, errors, 2);
	if (!err)
		err = posix_spawn(pid, path, &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	return -err;
}

int child_run(struct child *c, const char *path, char *const argv[], unsigned int timeout_ms)
{
	int out = memfd_create("out", MFD_CLOEXEC), errors = memfd_create("errors", MFD_CLOEXEC);
	int err = out < 0 || errors < 0 ? -errno : 0, status = 0;
	size_t len = 0;
	pid_t pid;

	memset(c, 0, sizeof(*c));
	if (!err)
		err = spawn(&pid, path, argv, out, errors);
	if (!err)
		err = await(pid, timeout_ms, &status);
	if (!err) {
		c->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		lseek(out, 0, SEEK_SET);
		lseek(errors, 0, SEEK_SET);
		c->out = read_all(out, &len);
		last_line(errors, c->said, sizeof(c->said));
		err = c->out ? 0 : -ENOMEM;
	}
	if (out >= 0)
		close(out);
	if (errors >= 0)
		close(errors);
	return err;
}
