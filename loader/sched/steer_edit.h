/* SPDX-License-Identifier: GPL-2.0 */
/* Changes of steering's tables, before they are put in place: all of them, or an error. */
#ifndef MPS_STEER_EDIT_H
#define MPS_STEER_EDIT_H

#include "sched/steer_fields.h"
#include "sched/steer_table.h"

/* at: the number that it gets, from 1 on; 0: behind the last. `*number`: which it has become. */
enum exit_code steer_add_rule(struct mps_steer_table *t, const struct mps_steer_rule *r,
			      unsigned int at, unsigned int *number);
enum exit_code steer_add_path(struct mps_steer_table *t, const struct mps_steer_path *p);
enum exit_code steer_delete_rule(struct mps_steer_table *t, unsigned int number);
/* Both tables become these; the generation stays t's own, to be counted on. */
void steer_replace(struct mps_steer_table *t, const struct mps_steer_table *with);
enum exit_code steer_delete_path(struct mps_steer_table *t, const char *name);

/* A line that ends what comes through a channel: without it something was cut off. */
#define STEER_END "end"

/* The paths become those of `with`, and the rules stay. */
void steer_replace_paths(struct mps_steer_table *t, const struct mps_steer_table *with);

/* Paths alone, from a file, or, "-", from stdin up to STEER_END. */
enum exit_code steer_paths_from(struct mps_steer_table *t, const char *path);

/* Both tables from a file: a line "rule ..." or "path ..." each. */
enum exit_code steer_from_file(struct mps_steer_table *t, const char *path);
/* The same from what is in it, which is changed. path: for errors. */
enum exit_code steer_from_text(struct mps_steer_table *t, const char *path, char *text);

#endif /* MPS_STEER_EDIT_H */
