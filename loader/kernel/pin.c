// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/vfs.h>
#include <linux/bpf.h>
#include <linux/magic.h>
#include <bpf/bpf.h>
#include "kernel/pin.h"

void pin_path(const char *name, char *buf, size_t size)
{
	snprintf(buf, size, PIN_DIR "/%s", name);
}

/* The kernel fills the same call's answer for maps and programs, in another form. */
static bool is_link(int fd)
{
	char path[40], line[80];
	bool is = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	while (file && !is && fgets(line, sizeof(line), file))
		is = !strncmp(line, "link_id:", 8);
	if (file)
		fclose(file);
	return is;
}

/* False, with errno, where no link is pinned there. */
static bool pin_info(const char *path, struct bpf_link_info *info)
{
	int fd = bpf_obj_get(path);
	__u32 len = sizeof(*info);
	bool is;

	memset(info, 0, sizeof(*info));
	if (fd < 0)
		return false;
	is = is_link(fd) && !bpf_link_get_info_by_fd(fd, info, &len);
	close(fd);
	if (!is)
		errno = EINVAL;
	return is;
}

__u32 pin_link_id(const char *path)
{
	struct bpf_link_info info;

	return pin_info(path, &info) && info.type == BPF_LINK_TYPE_STRUCT_OPS ? info.id : 0;
}

bool pin_is_link(const char *path)
{
	struct bpf_link_info info;

	return pin_info(path, &info);
}

bool is_bpffs(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && fs.f_type == BPF_FS_MAGIC;
}
