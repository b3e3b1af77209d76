// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include "cli/input.h"
#include "cli/util.h"

const char *file_kind(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFIFO:
		return "a FIFO";
	case S_IFCHR:
		return "a character device";
	case S_IFBLK:
		return "a block device";
	case S_IFSOCK:
		return "a socket";
	default:
		return "a regular file";
	}
}

static enum exit_code not_regular(const char *hint, mode_t mode)
{
	return fail(EX_FAILED, hint, "it is %s, not a regular file", file_kind(mode));
}

/* Does not wait for a FIFO's other end. */
static enum exit_code open_regular(const char *path, const char *hint, int *fd)
{
	struct stat st;
	int err;

	*fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	err = *fd < 0 ? errno : fstat(*fd, &st) ? errno : 0;
	if (!err && S_ISREG(st.st_mode))
		return EX_OK;
	if (*fd >= 0)
		close(*fd);
	/* a socket cannot be opened at all */
	if (!err || (err == ENXIO && !stat(path, &st)))
		return not_regular(hint, st.st_mode);
	return fail(code_of(err), hint, "%s", strerror(err));
}

enum exit_code input_read(const char *hint, int fd, size_t limit, char **text, size_t *len)
{
	*text = read_most(fd, limit, len);
	if (*text)
		return EX_OK;
	if (errno == EFBIG)
		return fail(EX_FAILED, hint,
			    "it has more than %zu MiB, which is the most that is read",
			    limit / MIB);
	return fail(code_of(errno), hint, "reading it failed: %s", strerror(errno));
}

enum exit_code input_file(const char *path, const char *hint, size_t limit, char **text,
			  size_t *len)
{
	ERROR_ABOUT(NULL, path);
	enum exit_code ret;
	int fd;

	*text = NULL;
	ret = open_regular(path, hint, &fd);
	if (ret != EX_OK)
		return ret;
	ret = input_read(hint, fd, limit, text, len);
	close(fd);
	return ret;
}
