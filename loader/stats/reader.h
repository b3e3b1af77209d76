/* SPDX-License-Identifier: GPL-2.0 */
/* The statistics that schedulers keep in socket storage (state/stats.h). */
#ifndef MPS_READER_H
#define MPS_READER_H

#include "bpf/records.h"
#include "cli/error.h"

struct stats; /* the skeleton of bpf/stats.bpf.c */

struct reading {
	struct mps_conn_rec *conn;	 /* by socket, each once */
	struct mps_subflow_rec *subflow; /* those of a connection together, by id, each once */
	unsigned int nr_conns, nr_subflows;
	unsigned int foreign; /* maps with the name but not the layout of statistics */
	double when;	      /* seconds of the clock that never goes back */
};

/* Loads the programs, once for many readings; NULL after an error was reported. */
struct stats *reader_open(void);
void reader_close(struct stats *skel);

/* Of every scheduler that is loaded or still in use. The caller frees it in any case. */
enum exit_code reader_read(struct reading *r, struct stats *skel);
/* Its connection, or NULL; the subflows of one, *nr of them. */
const struct mps_conn_rec *reading_conn(const struct reading *r, __u64 sk);
const struct mps_subflow_rec *reading_subflows(const struct reading *r, __u64 sk, unsigned int *nr);
void reading_free(struct reading *r);

#endif /* MPS_READER_H */
