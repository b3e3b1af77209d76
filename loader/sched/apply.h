/* SPDX-License-Identifier: GPL-2.0 */
/* Making the system match a configuration, statement by statement. */
#ifndef MPS_APPLY_H
#define MPS_APPLY_H

#include "cli/config.h"
#include "cli/output.h"
#include "kernel/kern.h"
#include "sched/object.h"
#include "state/steer.h"

struct apply {
	bool dry_run;
	struct config config;
	struct kern kern;
	char (*name)[MPS_NAME_LEN];	/* of each line of [load], as it registers */
	struct mps_steer_table *tables; /* of [paths] and [rules]; NULL: they say nothing */
	bool tables_wrong;		/* a row of them cannot be read */
	bool *left_out;			/* of each line: a rule about what is not there yet */
	output_t *changes;
	unsigned int nr, nr_done;
};

/* Before anything is changed: what is wrong with the file, and with what it names. */
enum exit_code apply_check(struct apply *a);
/* One that fails does not keep the others from being done. */
enum exit_code apply_all(struct apply *a);
void apply_free(struct apply *a);

/* --- what statements about schedulers (apply_load.c), tables (apply_steer.c), namespaces share */

/* A change that is about to be made, or would be, and what came of it. */
output_t *apply_add_row(struct apply *a, const struct config_line *l, const char *what,
			const char *detail);
/* The same about another thing than the line's. */
output_t *apply_add_change(struct apply *a, const struct config_line *l, const char *subject,
			   const char *what, const char *detail);
void apply_finish_row(struct apply *a, output_t *row, enum exit_code ret);

/* The object of a line of [load], with the tunables there; the caller closes it. */
enum exit_code apply_open(const struct apply *a, const struct config_line *l, struct object *o);
enum exit_code apply_change_load(struct apply *a, const struct config_line *l);
/* One line of [load], whatever that takes. */
enum exit_code apply_load(struct apply *a, const struct config_line *l);
/* One that a line needs and that comes with the command, with defaults; not where [load] lists it.
 */
enum exit_code apply_load_unlisted(struct apply *a, const struct config_line *l, const char *name);

/* A line of [paths] or [rules]: is it right, on whatever machine? Then: it is a row of the tables.
 */
enum exit_code apply_check_row(struct apply *a, const struct config_line *l);
enum exit_code apply_row(struct apply *a, const struct config_line *l);
/* Where there are such rows, the tables become those at once. */
enum exit_code apply_tables(struct apply *a);

#endif /* MPS_APPLY_H */
