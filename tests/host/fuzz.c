// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz PROFILE SEED COUNT [FILE]: random states through the headers, judged by
 *	the oracle. Prints what was reached, one line per kind of fault and the
 *	first state of each; writes the states that floating point cannot decide
 *	to FILE. Exit 1 on any fault.
 * fuzz batch: struct host_case on stdin, struct host_answer on stdout.
 * fuzz mul: four u64 a, b, c, d on stdin; hi and lo of a * b and whether
 *	a * b < c * d, as three u64, on stdout.
 * fuzz sizes: the layouts.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "host.h"

/* --- properties that take more than one question */

static bool differ(const struct host_answer *a, const struct host_answer *b)
{
	return memcmp(a, b, sizeof(*a)) != 0;
}

static bool is_faster(const struct host_answer *a)
{
	return a->path == MPS_WAIT && a->reason == MPS_WAIT_FASTER;
}

static enum host_fault relate(enum profile profile, const struct host_case *q,
			      const struct host_answer *a)
{
	struct host_case other = *q;
	struct host_answer b;
	__u32 i;

	sut_answer(q, &b);
	if (differ(a, &b))
		return FAULT_DETERMINISM;
	for (i = 0; i < 8; i++) {
		other.conn.path[i].stale ^= 5;
		if (i >= q->conn.nr_paths)
			memset(&other.conn.path[i], 0, sizeof(other.conn.path[i]));
	}
	sut_answer(&other, &b);
	if (differ(a, &b))
		return FAULT_BEYOND;
	if (!is_faster(a))
		return FAULT_NONE;

	/* whoever would begin to wait goes on waiting */
	if (!q->waiting) {
		other = *q;
		other.waiting = 1;
		sut_answer(&other, &b);
		if (!is_faster(&b))
			return FAULT_HYSTERESIS;
	}
	/* once all is acknowledged there is nothing left to wait for */
	other = *q;
	other.waiting = a->waiting;
	for (i = 0; i < q->conn.nr_paths; i++)
		other.conn.path[i].inflight = other.conn.path[i].unsent = 0;
	sut_answer(&other, &b);
	if (b.path < 0)
		return FAULT_ENDLESS;
	/*
	 * Equal paths: with k / cwnd = x the inequalities ask for
	 * 2 rtt + delta <= x rtt < beta rtt + (1 + beta) delta,
	 * so never before a first wait, and later only with a wild RTT.
	 */
	if (profile == EQUAL) {
		const struct mps_path *p = &q->conn.path[0];
		const __u64 beta = q->waiting ? q->beta : 0;

		if (beta * ((__u64)p->srtt_us + p->mdev_us) <= 2000ULL * p->srtt_us)
			return FAULT_HOMOGENEOUS;
	}
	return FAULT_NONE;
}

/* --- modes */

#define FAULT_NAME(id, name) name,
static const char *const fault_name[] = { HOST_FAULTS(FAULT_NAME) };
static const char *const reached_name[] = { HOST_REACHED(FAULT_NAME) };

static void print_case(const struct host_case *q, const struct host_answer *a)
{
	static const char *const op[] = { "minrtt", "ecf", "window-closed" };
	const struct mps_conn *c = &q->conn;
	__u32 i;

	printf("# %s: beta %u waiting %u pending %" PRIu64 " wnd_left %" PRIu64 " unacked %" PRIu64
	       " unit %u fit %u nr_paths %u\n",
	       op[q->op], q->beta, q->waiting, (uint64_t)c->pending, (uint64_t)c->wnd_left,
	       (uint64_t)c->unacked, c->unit, c->fit, c->nr_paths);
	for (i = 0; i < c->nr_paths; i++) {
		const struct mps_path *p = &c->path[i];

		printf("#   path %u: srtt %u mdev %u cwnd %u inflight %u mss %u unsent %u%s%s%s%s\n",
		       i, p->srtt_us, p->mdev_us, p->cwnd, p->inflight, p->mss, p->unsent,
		       p->flags & MPS_PATH_ACTIVE ? " active" : "",
		       p->flags & MPS_PATH_BACKUP ? " backup" : "",
		       p->flags & MPS_PATH_LOSS ? " loss" : "",
		       p->flags & MPS_PATH_SNDBUF ? " sndbuf" : "");
	}
	printf("#   answer: path %d reason %u bytes %u waiting %u\n", a->path, a->reason, a->bytes,
	       a->waiting);
}

static int run(enum profile profile, __u64 seed, __u64 count, const char *file)
{
	FILE *undecided = file ? fopen(file, "wb") : NULL;
	__u64 faults[NR_FAULTS] = { 0 }, n;
	int i, ret = 0;

	if (file && !undecided) {
		perror(file);
		return 2;
	}
	draw_from(seed);
	for (n = 0; n < count; n++) {
		struct host_case q = { 0 }, kept;
		struct host_answer a;
		enum host_fault fault;
		bool unsure;

		draw_case(profile, &q);
		kept = q;
		sut_answer(&q, &a);
		fault = memcmp(&q, &kept, sizeof(q)) ? FAULT_SNAPSHOT : FAULT_NONE;
		if (fault == FAULT_NONE)
			fault = oracle_judge(&q, &a, &unsure);
		if (fault == FAULT_NONE && unsure && undecided)
			fwrite(&q, sizeof(q), 1, undecided);
		if (fault == FAULT_NONE)
			fault = relate(profile, &q, &a);
		if (fault == FAULT_NONE)
			continue;
		if (!faults[fault]++) {
			printf("# %s, state %" PRIu64 "\n", fault_name[fault], (uint64_t)n);
			print_case(&q, &a);
		}
	}
	if (undecided && fclose(undecided)) {
		perror(file);
		return 2;
	}
	for (i = 0; i < NR_REACHED; i++)
		printf("reached %s %" PRIu64 "\n", reached_name[i], (uint64_t)host_reached[i]);
	for (i = 0; i < NR_FAULTS; i++) {
		if (!faults[i])
			continue;
		printf("fault %s %" PRIu64 "\n", fault_name[i], (uint64_t)faults[i]);
		ret = 1;
	}
	return ret;
}

static int batch(void)
{
	struct host_answer a;
	struct host_case q;

	while (fread(&q, sizeof(q), 1, stdin) == 1) {
		sut_answer(&q, &a);
		fwrite(&a, sizeof(a), 1, stdout);
	}
	return fflush(stdout) ? 2 : 0;
}

static int mul(void)
{
	__u64 in[4], out[3];

	while (fread(in, sizeof(in), 1, stdin) == 1) {
		sut_mul(in[0], in[1], &out[0], &out[1]);
		out[2] = (__u64)sut_product_less(in[0], in[1], in[2], in[3]);
		fwrite(out, sizeof(out), 1, stdout);
	}
	return fflush(stdout) ? 2 : 0;
}

int main(int argc, char **argv)
{
	int i;

	if (argc == 2 && !strcmp(argv[1], "batch"))
		return batch();
	if (argc == 2 && !strcmp(argv[1], "mul"))
		return mul();
	if (argc == 2 && !strcmp(argv[1], "sizes")) {
		sut_print_sizes();
		return 0;
	}
	for (i = 0; i < NR_PROFILES && (argc == 4 || argc == 5); i++)
		if (!strcmp(argv[1], profile_name[i]))
			return run(i, strtoull(argv[2], NULL, 0), strtoull(argv[3], NULL, 0),
				   argv[4]);
	fprintf(stderr, "usage: fuzz PROFILE SEED COUNT [FILE] | batch | mul | sizes\n");
	return 2;
}
