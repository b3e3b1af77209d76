/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sums that never fall: what connections counted since the exporter began, by namespace and
 * scheduler, and by path. A connection that ends takes its counters with it, so that each reading
 * is compared with what is known of its connections, and the difference is added.
 */
#ifndef MPS_TOTALS_H
#define MPS_TOTALS_H

#include <stdbool.h>
#include "kernel/netns.h"
#include "kernel/sockets.h"
#include "stats/reader.h"

/* Of paths and namespaces beyond those that have a label. */
#define OTHER "other"

struct path_sum {
	char label[64];		/* a local address, or OTHER */
	unsigned int remote_id; /* of the peer's address */
	__u64 counter[MPS_NR_SUBFLOW_COUNTERS];
	/* now */
	unsigned int subflows, stale, measured;
	__u64 srtt_us, unsent;
};

/* A scheduler in a namespace. */
struct series {
	char sched[MPS_NAME_LEN];
	bool counts; /* it is a scheduler that keeps counters */
	__u64 counter[MPS_NR_CONN_COUNTERS];
	__u64 seen; /* connections that began meanwhile, and decided anything */
	struct path_sum *path;
	unsigned int nr_paths;
	/* now */
	unsigned int connections, fallback, listeners;
	unsigned int refs; /* known connections and subflows, by which it is kept */
	struct series *next;
};

struct space {
	char label[256]; /* of the namespace, or OTHER */
	struct series *series;
	bool alive;
	struct space *next;
};

#define NR_BUCKETS 256

struct known; /* a connection or subflow of an earlier reading */

struct totals {
	struct space *bucket[NR_BUCKETS]; /* by label */
	unsigned int nr_spaces;		  /* but OTHER */
	unsigned int max_namespaces, max_paths;
	struct known *conn, *subflow;
	unsigned int nr_conns, nr_subflows;
	bool begun; /* what the first reading finds is where counting begins */
};

/*
 * The label of a namespace; NULL: all that is known is its inode. A process comes and goes: its
 * number, which the commands show, is no name.
 */
void totals_label(const struct netns *ns, ino_t ino, char *label, size_t size);

/* Everything of one reading; l: the namespaces at that time. */
void totals_add(struct totals *t, const struct reading *r, const struct sockets *s,
		const struct netns_list *l);
void totals_free(struct totals *t);

#endif /* MPS_TOTALS_H */
