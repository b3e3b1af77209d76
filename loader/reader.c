// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "iter.h"
#include "mps_settle.h"
#include "out.h"
#include "reader.h"
#include "registry.h"
#include "stats.skel.h"

struct stats *reader_open(void)
{
	struct stats *skel;

	report_libbpf();
	skel = stats__open_and_load();
	if (!skel)
		fail(code_of(errno), "read", "statistics", "run again with -v",
		     "the kernel refused the program that reads them (%s)%s", strerror(errno),
		     libbpf_reason());
	return skel;
}

void reader_close(struct stats *skel)
{
	stats__destroy(skel);
}

/* Records that a map's walk gives, added to those of the other maps. */
static int add_records(const struct bpf_program *prog, __u32 map_id, size_t value_size,
		       void **records, unsigned int *nr, size_t size)
{
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);
	unsigned int more = 0;
	void *part, *all;
	int fd;

	fd = bpf_map_get_fd_by_id(map_id);
	/* gone between two looks: then its connections are, too */
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (bpf_map_get_info_by_fd(fd, &info, &len) || info.value_size != value_size) {
		close(fd);
		out_note("map %u has the name but not the layout of statistics: left out", map_id);
		return 0;
	}
	part = iter_read(prog, fd, size, &more);
	close(fd);
	if (!part)
		return -errno;
	all = realloc(*records, (*nr + more) * size + 1);
	if (!all) {
		free(part);
		return -ENOMEM;
	}
	memcpy((char *)all + *nr * size, part, more * size);
	*records = all;
	*nr += more;
	free(part);
	return 0;
}

static int read_sched(struct reading *r, struct stats *skel, const struct sched *s)
{
	void *conns = r->conn, *subflows = r->subflow;
	int err = 0;

	if (s->conn_map)
		err = add_records(skel->progs.connections, s->conn_map,
				  sizeof(struct mps_conn_store), &conns, &r->nr_conns,
				  sizeof(*r->conn));
	if (!err && s->subflow_map)
		err = add_records(skel->progs.subflows, s->subflow_map,
				  sizeof(struct mps_subflow_store), &subflows, &r->nr_subflows,
				  sizeof(*r->subflow));
	r->conn = conns;
	r->subflow = subflows;
	return err;
}

/* A connection's subflows together, in the order they were made. */
static int by_id(const void *a, const void *b)
{
	const struct mps_subflow_rec *x = a, *y = b;

	if (x->conn != y->conn)
		return x->conn < y->conn ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Counts what the subflows took since their connection's last round. */
static void settle(struct mps_subflow_rec *rec, unsigned int nr)
{
	struct mps_round now = { 0 };
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!i || rec[i].conn != rec[i - 1].conn)
			now.found = 0;
		now.head = rec[i].head;
		now.sent = rec[i].sent;
		mps_settle(&rec[i].store, &now, rec[i].seq);
	}
}

enum exit_code reader_read(struct reading *r, struct stats *skel)
{
	struct registry reg;
	unsigned int i;
	int err = 0;

	memset(r, 0, sizeof(*r));
	registry_read(&reg);
	for (i = 0; i < reg.nr && !err; i++)
		err = read_sched(r, skel, &reg.sched[i]);
	registry_free(&reg);
	if (err)
		return fail(code_of(-err), "read", "statistics", "run again with -v", "%s",
			    strerror(-err));
	if (r->nr_subflows) {
		qsort(r->subflow, r->nr_subflows, sizeof(*r->subflow), by_id);
		settle(r->subflow, r->nr_subflows);
	}
	return EX_OK;
}

void reading_free(struct reading *r)
{
	free(r->conn);
	free(r->subflow);
	memset(r, 0, sizeof(*r));
}
