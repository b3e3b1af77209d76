// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "stats/reader.h" /* the skeleton's types are in what it includes */
#include "bpf/stats.skel.h"
#include "kernel/kern.h"
#include "kernel/registry.h"
#include "state/attribution.h"

struct stats *reader_open(void)
{
	ERROR_ABOUT("read", "statistics");
	struct stats *skel;

	error_watch_libbpf();
	skel = stats__open();
	if (skel)
		skel->rodata->fallback_bit = kern_fallback_bit();
	if (skel && !stats__load(skel))
		return skel;
	fail(code_of(errno), "run again with -v",
	     "the kernel refused the program that reads them (%s)%s", strerror(errno),
	     libbpf_reason());
	stats__destroy(skel);
	return NULL;
}

void reader_close(struct stats *skel)
{
	stats__destroy(skel);
}

/* What a walk of a map gives. */
struct kind {
	const struct bpf_program *prog;
	const void *page; /* that it fills with each call */
	size_t size;	  /* of a record */
	size_t value_size;
};

static int add_page(struct stats *skel, const struct kind *k, void **records, unsigned int *nr)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	void *all;
	int err;

	err = bpf_prog_test_run_opts(bpf_program__fd(k->prog), &opts);
	if (err)
		return err;
	if (opts.retval || (!skel->bss->walk.over && !skel->bss->walk.nr))
		return -ENXIO;
	all = realloc(*records, (*nr + skel->bss->walk.nr) * k->size + 1);
	if (!all)
		return -ENOMEM;
	memcpy((char *)all + *nr * k->size, k->page, skel->bss->walk.nr * k->size);
	*records = all;
	*nr += skel->bss->walk.nr;
	return 0;
}

/* Records that a map's walk gives, added to those of the other maps. 1: not such a map. */
static int add_records(struct stats *skel, const struct kind *k, __u32 map_id, void **records,
		       unsigned int *nr)
{
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);
	int fd, err = 0;

	fd = bpf_map_get_fd_by_id(map_id);
	/* gone between two looks: then its connections are, too */
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (bpf_map_get_info_by_fd(fd, &info, &len) || info.type != BPF_MAP_TYPE_SK_STORAGE ||
	    info.value_size != k->value_size) {
		close(fd);
		return 1;
	}
	skel->bss->walk = (struct mps_walk){ .map_fd = (__u32)fd, .map_id = map_id };
	while (!err && !skel->bss->walk.over)
		err = add_page(skel, k, records, nr);
	close(fd);
	return err;
}

static int read_sched(struct reading *r, struct stats *skel, const struct sched *s)
{
	const struct kind conn = { .prog = skel->progs.connections,
				   .page = skel->bss->conn_page,
				   .size = sizeof(*r->conn),
				   .value_size = sizeof(struct mps_conn_store) };
	const struct kind subflow = { .prog = skel->progs.subflows,
				      .page = skel->bss->subflow_page,
				      .size = sizeof(*r->subflow),
				      .value_size = sizeof(struct mps_subflow_store) };
	void *conns = r->conn, *subflows = r->subflow;
	int err = 0, foreign = 0;

	if (s->conn_map)
		foreign = add_records(skel, &conn, s->conn_map, &conns, &r->nr_conns);
	if (s->subflow_map && foreign >= 0)
		err = add_records(skel, &subflow, s->subflow_map, &subflows, &r->nr_subflows);
	r->conn = conns;
	r->subflow = subflows;
	if (foreign < 0 || err < 0)
		return foreign < 0 ? foreign : err;
	r->foreign += (unsigned int)(foreign + err);
	return 0;
}

static int by_socket(const void *a, const void *b)
{
	const struct mps_conn_rec *x = a, *y = b;

	return x->sk < y->sk ? -1 : x->sk > y->sk;
}

/* A connection's subflows together, in the order they were made. */
static int by_id(const void *a, const void *b)
{
	const struct mps_subflow_rec *x = a, *y = b;

	if (x->conn != y->conn)
		return x->conn < y->conn ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return memcmp(&x->local, &y->local, sizeof(x->local))
		       ?: memcmp(&x->remote, &y->remote, sizeof(x->remote));
}

/* The walk of a map that changes meanwhile can come by the same socket twice. */
static unsigned int sort_once_each(void *records, unsigned int nr, size_t size,
				   int (*order)(const void *, const void *))
{
	unsigned int i, kept = 0;
	char *rec = records;

	if (!nr)
		return 0;
	qsort(rec, nr, size, order);
	for (i = 1; i < nr; i++)
		if (order(rec + i * size, rec + kept * size) && ++kept != i)
			memcpy(rec + kept * size, rec + i * size, size);
	return kept + 1;
}

/* Is what is stored of the subflow still of the connection before on the same socket? */
static bool is_of_another(const struct reading *r, const struct mps_subflow_rec *rec)
{
	const struct mps_conn_rec *conn = reading_conn(r, rec->conn);

	return conn && (!conn->begun || (rec->token && rec->token != conn->token));
}

/* Counts what the subflows took since their connection's last round. */
static void settle(const struct reading *r, struct mps_subflow_rec *rec, unsigned int nr)
{
	struct mps_round now = { 0 };
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (is_of_another(r, &rec[i])) {
			memset(rec[i].store.counter, 0, sizeof(rec[i].store.counter));
			continue;
		}
		if (!i || rec[i].conn != rec[i - 1].conn)
			now.found = now.found_new = 0;
		now.head = rec[i].head;
		now.sent = mps_assigned_end(rec[i].sent, rec[i].head);
		mps_settle(&rec[i].store, &now, rec[i].seq);
	}
}

enum exit_code reader_read(struct reading *r, struct stats *skel)
{
	ERROR_ABOUT("read", "statistics");
	struct registry reg;
	struct timespec now;
	unsigned int i;
	int err = 0;

	memset(r, 0, sizeof(*r));
	clock_gettime(CLOCK_MONOTONIC, &now);
	r->when = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
	registry_read(&reg);
	for (i = 0; i < reg.nr && !err; i++)
		err = read_sched(r, skel, &reg.sched[i]);
	registry_free(&reg);
	if (err == -ENXIO)
		return fail(EX_KERNEL, "take a kernel that was tested: docs/reference/kernels.md",
			    "this kernel keeps socket storage in another way");
	if (err)
		return fail(code_of(-err), "run again with -v", "%s", strerror(-err));
	r->nr_conns = sort_once_each(r->conn, r->nr_conns, sizeof(*r->conn), by_socket);
	r->nr_subflows = sort_once_each(r->subflow, r->nr_subflows, sizeof(*r->subflow), by_id);
	settle(r, r->subflow, r->nr_subflows);
	return EX_OK;
}

const struct mps_conn_rec *reading_conn(const struct reading *r, __u64 sk)
{
	const struct mps_conn_rec key = { .sk = sk };

	return r->nr_conns ? bsearch(&key, r->conn, r->nr_conns, sizeof(key), by_socket) : NULL;
}

const struct mps_subflow_rec *reading_subflows(const struct reading *r, __u64 sk, unsigned int *nr)
{
	unsigned int low = 0, high = r->nr_subflows, end;

	while (low < high) {
		const unsigned int mid = low + (high - low) / 2;

		if (r->subflow[mid].conn < sk)
			low = mid + 1;
		else
			high = mid;
	}
	for (end = low; end < r->nr_subflows && r->subflow[end].conn == sk; end++)
		;
	*nr = end - low;
	return r->subflow + low;
}

void reading_free(struct reading *r)
{
	free(r->conn);
	free(r->subflow);
	memset(r, 0, sizeof(*r));
}
