/* SPDX-License-Identifier: GPL-2.0 */
/* All tunables of an object, by its BTF: of a file, or of what the kernel has loaded. */
#ifndef MPS_TUNABLES_H
#define MPS_TUNABLES_H

#include "report.h"
#include "tunable.h"

struct btf;
struct json_object;

struct tunables {
	struct tunable *t;
	unsigned int nr;
};

/* Without their values, which lie in the sections. The caller frees it in any case. */
enum exit_code tunables_read(struct tunables *ts, const char *operation, const char *what,
			     const struct btf *btf);
void tunables_free(struct tunables *ts);

/* By its name, of so many characters; NULL: there is none. */
const struct tunable *tunables_find(const struct tunables *ts, const char *name, size_t len);

/* "it has beta (0 to 10), ...", for hints. */
void tunables_describe(const struct tunables *ts, char *buf, size_t size);

/* A decimal number under key. */
void out_tunable(struct json_object *obj, const char *key, const struct tunable *t, __u32 value);

/* "NAME=VALUE" */
enum exit_code tunables_parse(const struct tunables *ts, const char *operation, const char *what,
			      const char *setting, const struct tunable **t, __u32 *value);

#endif /* MPS_TUNABLES_H */
