/* SPDX-License-Identifier: GPL-2.0 */
/* All tunables of an object, by its BTF: of a file, or of what the kernel has loaded. */
#ifndef MPS_TUNABLE_TABLE_H
#define MPS_TUNABLE_TABLE_H

#include "cli/error.h"
#include "sched/tunable_value.h"

struct btf;
struct json_object;

struct tunable_table {
	struct tunable *t;
	unsigned int nr;
};

/* Without their values, which lie in the sections. The caller frees it in any case. */
enum exit_code tunable_table_read(struct tunable_table *ts, const struct btf *btf);
void tunable_table_free(struct tunable_table *ts);

/* By its name, of so many characters; NULL: there is none. */
const struct tunable *tunable_table_find(const struct tunable_table *ts, const char *name,
					 size_t len);

/* Says that there is none of this name, and which it is now if it had the name before. */
enum exit_code tunable_table_unknown(const struct tunable_table *ts, const char *name, size_t len);

/* "it has beta (0 to 10), ...", for hints. */
void tunable_table_describe(const struct tunable_table *ts, char *buf, size_t size);

/* A decimal number under key. */
void output_tunable(struct json_object *obj, const char *key, const struct tunable *t, __u32 value);

/*
 * What is wrong with settings whatever the scheduler is: their form, and a name that comes twice.
 * code: EX_USAGE for words of the command, EX_FAILED for those of a file.
 */
enum exit_code tunable_table_check_words(enum exit_code code, const char *const *settings,
					 unsigned int nr);

/* "NAME=VALUE" */
enum exit_code tunable_table_parse(const struct tunable_table *ts, const char *setting,
				   const struct tunable **t, __u32 *value);

#endif /* MPS_TUNABLE_TABLE_H */
