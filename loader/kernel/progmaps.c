// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "kernel/progmaps.h"

int progmaps_open(struct progmaps *m, __u32 prog_id)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(prog_id), err;

	memset(m, 0, sizeof(*m));
	if (fd < 0)
		return -errno;
	info.nr_map_ids = PROGMAPS_MAX;
	info.map_ids = (__u64)(unsigned long)m->id;
	err = bpf_prog_get_info_by_fd(fd, &info, &len);
	close(fd);
	if (err)
		return err;
	m->btf_id = info.btf_id;
	m->nr = info.nr_map_ids < PROGMAPS_MAX ? info.nr_map_ids : PROGMAPS_MAX;
	return 0;
}

int progmaps_next(struct progmaps *m, struct bpf_map_info *info)
{
	while (m->at < m->nr) {
		__u32 len = sizeof(*info);
		int fd = bpf_map_get_fd_by_id(m->id[m->at++]);

		if (fd < 0)
			continue;
		memset(info, 0, sizeof(*info));
		if (!bpf_map_get_info_by_fd(fd, info, &len))
			return fd;
		close(fd);
	}
	return -1;
}
