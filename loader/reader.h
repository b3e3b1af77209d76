/* SPDX-License-Identifier: GPL-2.0 */
/* The statistics that schedulers keep in socket storage (mps_stats.h). */
#ifndef MPS_READER_H
#define MPS_READER_H

#include "records.h"
#include "report.h"

struct stats; /* the skeleton of bpf/stats.bpf.c */

struct reading {
	struct mps_conn_rec *conn;
	struct mps_subflow_rec *subflow;
	unsigned int nr_conns, nr_subflows;
};

/* Loads the programs, once for many readings; NULL after an error was reported. */
struct stats *reader_open(void);
void reader_close(struct stats *skel);

/* Of every scheduler that is loaded or still in use. The caller frees it in any case. */
enum exit_code reader_read(struct reading *r, struct stats *skel);
void reading_free(struct reading *r);

#endif /* MPS_READER_H */
