// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "cli/subprocess.h"

/* More than a line of errors takes. */
#define ERRORS_KEPT 8192

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

/* What the child writes, or its end: no more of it than limit is kept. */
struct stream {
	int fd; /* -1: it has ended */
	char *buf;
	size_t len, size, limit;
	bool tail; /* of more than that, the end; else more is an error */
};

static bool make_room(struct stream *s)
{
	char *bigger;

	if (s->len < s->size - 1)
		return true;
	s->size *= 2;
	bigger = realloc(s->buf, s->size);
	if (bigger)
		s->buf = bigger;
	return bigger;
}

/* Once. 1: there may be more, 0: not now, or a negative errno. */
static int pump(struct stream *s)
{
	ssize_t n;

	if (s->fd < 0)
		return 0;
	if (!make_room(s))
		return -ENOMEM;
	n = read(s->fd, s->buf + s->len, s->size - s->len - 1);
	if (n < 0)
		return errno == EINTR ? 1 : errno == EAGAIN ? 0 : -errno;
	if (!n) {
		close(s->fd);
		s->fd = -1;
		return 0;
	}
	s->len += (size_t)n;
	s->buf[s->len] = '\0';
	if (s->len <= s->limit)
		return 1;
	if (!s->tail)
		return -EFBIG;
	memmove(s->buf, s->buf + s->len - s->limit / 2, s->limit / 2 + 1);
	s->len = s->limit / 2;
	return 1;
}

/* What is left when the child has ended; a child of its own may go on writing for ever. */
static int drain(struct stream *s)
{
	unsigned int most = 1 + (unsigned int)(s->limit / 1024);
	int more = 1;

	while (more > 0 && most--)
		more = pump(s);
	return more < 0 ? more : 0;
}

static int left_ms(const struct timespec *begun, unsigned int timeout_ms)
{
	struct timespec now;
	long ms;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ms = (now.tv_sec - begun->tv_sec) * 1000 + (now.tv_nsec - begun->tv_nsec) / 1000000;
	return ms < (long)timeout_ms ? (int)((long)timeout_ms - ms) : 0;
}

static int listen_to(int child, struct stream *out, struct stream *errors, unsigned int timeout_ms)
{
	struct timespec begun;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	while (!err) {
		struct pollfd fds[] = {
			{ .fd = out->fd, .events = POLLIN },
			{ .fd = errors->fd, .events = POLLIN },
			{ .fd = child, .events = POLLIN },
		};
		const int n = poll(fds, 3, left_ms(&begun, timeout_ms));

		if (n < 0 && errno != EINTR)
			return -errno;
		if (!n)
			return -ETIME;
		if (n > 0 && fds[2].revents)
			return drain(out) ?: drain(errors);
		if (n > 0 && fds[0].revents)
			err = pump(out);
		if (n > 0 && fds[1].revents && err >= 0)
			err = pump(errors);
		err = err < 0 ? err : 0;
	}
	return err;
}

static int reap(pid_t pid, int *status)
{
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* Were there any? */
static bool kill_children(void)
{
	FILE *file = fopen("/proc/thread-self/children", "re");
	bool any = false;
	pid_t pid;

	while (file && fscanf(file, "%d", &pid) == 1) {
		any = true;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, WNOHANG);
	}
	if (file)
		fclose(file);
	return any;
}

/*
 * With all that it began, as the processes of a shell's pipeline: they become this one's when their
 * parents end. No process group, as one in the background may not ask on the terminal.
 */
static void end_all(pid_t pid, int *status)
{
	unsigned int most = 100;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	kill(pid, SIGKILL);
	reap(pid, status);
	while (kill_children() && most--)
		poll(NULL, 0, 10);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
}

/* Ends it where it takes longer, or says more. */
static int await(pid_t pid, struct stream *out, struct stream *errors, unsigned int timeout_ms,
		 int *status)
{
	int fd = pidfd_open(pid, 0);
	int err = fd < 0 ? -errno : listen_to(fd, out, errors, timeout_ms);

	if (fd >= 0)
		close(fd);
	if (!err)
		return reap(pid, status);
	end_all(pid, status);
	return err;
}

static void last_line(struct stream *s, char *line, size_t size)
{
	char *nl;

	while (s->len && (s->buf[s->len - 1] == '\n' || s->buf[s->len - 1] == '\r'))
		s->buf[--s->len] = '\0';
	nl = memrchr(s->buf, '\n', s->len);
	snprintf(line, size, "%s", nl ? nl + 1 : s->buf);
}

/* in: what it reads, -1: nothing */
static int spawn(pid_t *pid, const char *path, char *const argv[], int in, int out, int errors)
{
	posix_spawn_file_actions_t files;
	int err = posix_spawn_file_actions_init(&files);

	if (err)
		return -err;
	if (in < 0)
		err = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	else
		err = posix_spawn_file_actions_adddup2(&files, in, 0);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&files, out, 1);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&files, errors, 2);
	if (!err)
		err = posix_spawn(pid, path, &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	return -err;
}

/* Its end for the child, -1 where there is none. */
static int open_stream(struct stream *s, size_t limit, bool tail)
{
	int ends[2];

	memset(s, 0, sizeof(*s));
	s->fd = -1;
	s->limit = limit;
	s->tail = tail;
	s->size = 4096;
	s->buf = calloc(1, s->size);
	if (!s->buf || pipe2(ends, O_CLOEXEC))
		return -1;
	/* of this end alone: the child's write() waits as that of any pipe */
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	s->fd = ends[0];
	return ends[1];
}

static void close_stream(struct stream *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->buf);
}

int subprocess_feed(struct subprocess *c, const char *path, char *const argv[], int in,
		    unsigned int timeout_ms, size_t limit)
{
	struct stream out, errors;
	const int to_out = open_stream(&out, limit, false);
	const int to_errors = open_stream(&errors, ERRORS_KEPT, true);
	int err = to_out < 0 || to_errors < 0 ? -errno : 0, status = 0;
	pid_t pid;

	memset(c, 0, sizeof(*c));
	if (!err)
		err = spawn(&pid, path, argv, in, to_out, to_errors);
	/* or there would be no end of either */
	if (to_out >= 0)
		close(to_out);
	if (to_errors >= 0)
		close(to_errors);
	if (!err)
		err = await(pid, &out, &errors, timeout_ms, &status);
	if (!err) {
		c->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		last_line(&errors, c->said, sizeof(c->said));
		c->out = out.buf;
		out.buf = NULL;
	}
	close_stream(&out);
	close_stream(&errors);
	return err;
}

int subprocess_run(struct subprocess *c, const char *path, char *const argv[],
		   unsigned int timeout_ms, size_t limit)
{
	return subprocess_feed(c, path, argv, -1, timeout_ms, limit);
}
