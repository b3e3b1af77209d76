/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers that a scheduler's user may set. The object describes them itself
 * (MPS_TUNABLE() of bpf/frame/tunables.h, a BTF declaration tag): integers, `scale` to
 * one, so 0.25 with scale 1000 is stored as 250. Those in .rodata are known to
 * the verifier, which removes what they switch off: they are fixed at load.
 */
#ifndef MPS_TUNABLE_VALUE_H
#define MPS_TUNABLE_VALUE_H

#include <stddef.h>
#include <linux/types.h>

enum tunable_section { TUNABLE_FIXED, TUNABLE_LIVE, NR_TUNABLE_SECTIONS };
extern const char *const tunable_section[NR_TUNABLE_SECTIONS];

struct tunable {
	const char *name, *text; /* owned by the object's BTF */
	const char *was;	 /* the name that it had before, or NULL */
	__u32 min, max, scale;
	__u32 def; /* as compiled; of an object before it is loaded */
	enum tunable_section section;
	__u32 datasec; /* the section's type */
	size_t offset; /* in the section */
};

/* "MIN:MAX:SCALE:TEXT", as in the tag. 0 or -EINVAL. */
int tunable_value_parse_tag(struct tunable *t, const char *tag);

/*
 * Decimal to integer, exactly: what finer than 1/scale is wanted is an error,
 * never rounded. NULL, or why not.
 */
const char *tunable_value_parse(const struct tunable *t, const char *text, __u32 *value);

/* What is wrong with "NAME=VALUE" whatever the tunable is; NULL: nothing. */
const char *tunable_value_check_form(const char *setting);

/* value / scale in decimal, without trailing zeros. */
void tunable_value_format(const struct tunable *t, __u32 value, char *buf, size_t size);

#endif /* MPS_TUNABLE_VALUE_H */
