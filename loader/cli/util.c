// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/stat.h>
#include <bpf/btf.h>
#include "cli/util.h"

int read_line(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : read_line_fd(fd, buf, size);
}

int read_line_fd(int fd, char *buf, size_t size)
{
	ssize_t n = read(fd, buf, size - 1);

	if (n < 0)
		n = -errno;
	close(fd);
	if (n < 0)
		return (int)n;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

/* As read(), but it waits where there is nothing yet. */
static ssize_t read_some(int fd, void *buf, size_t size)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;

	while ((n = read(fd, buf, size)) < 0 && (errno == EINTR || errno == EAGAIN))
		if (errno == EAGAIN)
			poll(&p, 1, -1);
	return n;
}

char *read_all(int fd, size_t *len)
{
	return read_most(fd, SIZE_MAX, len);
}

char *read_most(int fd, size_t limit, size_t *len)
{
	size_t size = 16384, at = 0;
	char *buf = malloc(size);

	while (buf) {
		ssize_t n = read_some(fd, buf + at, size - at - 1);
		char *bigger;

		if (n > 0 && (size_t)n > limit - at) {
			n = -1;
			errno = EFBIG;
		}
		if (n < 0) {
			const int err = errno;

			free(buf);
			errno = err;
			return NULL;
		}
		at += (size_t)n;
		if (!n)
			break;
		if (size - at > 4096)
			continue;
		size *= 2;
		bigger = realloc(buf, size);
		if (!bigger)
			free(buf);
		buf = bigger;
	}
	if (buf) {
		buf[at] = '\0';
		*len = at;
	}
	return buf;
}

void out_of_memory(void)
{
	fprintf(stderr, "out of memory\n");
	abort();
}

void *grow(void *array, unsigned int used, size_t size)
{
	/* a power of two: full */
	if (used && (used & (used - 1)))
		return array;
	array = realloc(array, (used ? 2UL * used : 1) * size);
	if (!array)
		out_of_memory();
	return array;
}

void sleep_ms(unsigned int ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000L };

	nanosleep(&ts, NULL);
}

bool is_there(const char *path)
{
	return !faccessat(AT_FDCWD, path, F_OK, AT_EACCESS);
}

bool is_nowhere(const char *path)
{
	struct stat st;

	return lstat(path, &st) && errno == ENOENT;
}

const char *btf_type_name(const struct btf *btf, unsigned int id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	return t ? btf__name_by_offset(btf, t->name_off) : "";
}

const struct btf_member *btf_member(const struct btf *btf, unsigned int id, const char *name)
{
	const struct btf_type *t = btf__type_by_id(btf, id);
	const struct btf_member *m = btf_members(t);
	unsigned int i;

	for (i = 0; i < btf_vlen(t); i++, m++)
		if (!strcmp(btf__name_by_offset(btf, m->name_off), name))
			return m;
	return NULL;
}
