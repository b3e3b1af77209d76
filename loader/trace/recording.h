/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A recording of decisions: `trace --record` writes it, `replay` reads it. A header, then chunks:
 * which function a decision is of, before its first one; decisions; how many there were, at the
 * end. Numbers are as the machine has them, little-endian wherever this runs
 * (docs/reference/recording.md).
 */
#ifndef MPS_RECORDING_H
#define MPS_RECORDING_H

#include <stdbool.h>
#include <stdio.h>
#include "bpf/trace.h"
#include "cli/error.h"
#include "trace/observer.h"

#define RECORDING_MAGIC "mpstrace"
/* To be raised with any change of what follows, of struct mps_trace_head, mps_conn or mps_priv. */
#define RECORDING_VERSION 1
/* No more is read. */
#define RECORDING_MAX (1UL << 30)

struct recording_header {
	char magic[8];
	__u32 version;
	__u32 head_size, conn_size, priv_size; /* of those structs */
	__u32 get_subflow;		       /* the kernel has that hook, or the two newer ones */
	__u32 anonymised;
	double to_real; /* seconds of 1970 when the clock of the decisions began */
	char kernel[72], program[32];
};

enum recording_kind { RECORDING_FUNCTION = 1, RECORDING_DECISION, RECORDING_END };

/* Before each of the structs below, or a decision. */
struct recording_chunk {
	__u32 kind, size;
};

/* Decisions name it by `target`. */
struct recording_function {
	__u32 target, what; /* enum observed */
	char sched[MPS_NAME_LEN], policy[POLICY_LEN];
	char tunables[1024]; /* "NAME=VALUE NAME=VALUE", as they were when it was found */
};

struct recording_end {
	__u64 seen, kept, lost;
};

struct recording {
	FILE *file;
	const char *path;
	unsigned int functions;
	bool anonymise;
	struct mps_addr *known; /* addresses that have a number */
	unsigned int nr_known;
};

/* A file that is there stays as it is: that is an error. */
enum exit_code recording_create(struct recording *r, const char *path, bool get_subflow,
				bool anonymise, double to_real);
void recording_add_function(struct recording *r, const struct recording_function *f);
/* rec: of a whole record, else NULL. False: it could not be written. */
bool recording_add(struct recording *r, const struct mps_trace_head *head,
		   const struct mps_trace_rec *rec);
enum exit_code recording_finish(struct recording *r, const struct recording_end *end);

/* What is in a file; offset is where the next chunk begins. */
struct recording_file {
	char *text;
	size_t len, offset;
	const char *path;
	const struct recording_header *header;
	bool complete; /* the end was read */
};

/* The next chunk: one of the three. */
struct recording_item {
	enum recording_kind kind;
	const struct recording_function *function;
	const struct recording_end *end;
	struct mps_trace_rec rec; /* of a decision */
	bool whole;		  /* conn is valid */
};

/* The caller closes it in any case. */
enum exit_code recording_open(struct recording_file *f, const char *path);
/* *more false: that was all. */
enum exit_code recording_next(struct recording_file *f, struct recording_item *item, bool *more);
void recording_close(struct recording_file *f);

#endif /* MPS_RECORDING_H */
