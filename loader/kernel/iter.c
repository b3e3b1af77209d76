// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "cli/util.h"
#include "kernel/iter.h"

void *iter_read(const struct bpf_program *prog, size_t size, unsigned int *nr)
{
	struct bpf_link *link;
	void *records = NULL;
	size_t len = 0;
	int fd, err;

	link = bpf_program__attach_iter(prog, NULL);
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
