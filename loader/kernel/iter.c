// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "cli/util.h"
#include "kernel/iter.h"

void *iter_read(const struct bpf_program *prog, int map_fd, size_t size, unsigned int *nr)
{
	union bpf_iter_link_info info = { 0 };
	LIBBPF_OPTS(bpf_iter_attach_opts, opts);
	struct bpf_link *link;
	void *records = NULL;
	size_t len = 0;
	int fd, err;

	if (map_fd >= 0) {
		info.map.map_fd = (__u32)map_fd;
		opts.link_info = &info;
		opts.link_info_len = sizeof(info);
	}
	link = bpf_program__attach_iter(prog, &opts);
	if (!link)
		return NULL;
	fd = bpf_iter_create(bpf_link__fd(link));
	err = errno;
	if (fd >= 0) {
		records = read_all(fd, &len);
		err = errno;
		close(fd);
	}
	bpf_link__destroy(link);
	*nr = (unsigned int)(len / size);
	errno = err;
	return records;
}
