/* SPDX-License-Identifier: GPL-2.0 */
/* Fields that rules and paths have in common: either kind of row begins with its prefixes. */
#ifndef MPS_STEER_ENDS_H
#define MPS_STEER_ENDS_H

#include "sched/steer_values.h"
#include "state/steer.h"

_Static_assert(!offsetof(struct mps_steer_rule, ends) && !offsetof(struct mps_steer_path, ends),
	       "prefixes");

#define END_FIELD(which)                                                              \
	static bool read_##which(void *row, const char *value, struct steer_why *why) \
	{                                                                             \
		struct mps_steer_prefixes *p = row;                                   \
                                                                                      \
		return value_prefix(p->which, p->which##_mask, value, why);           \
	}                                                                             \
	static bool write_##which(const void *row, char *buf, size_t size)            \
	{                                                                             \
		const struct mps_steer_prefixes *p = row;                             \
                                                                                      \
		if (p->which##_mask[0] | p->which##_mask[1])                          \
			text_prefix(p->which, p->which##_mask, buf, size);            \
		return p->which##_mask[0] | p->which##_mask[1];                       \
	}

END_FIELD(local)
END_FIELD(remote)

#endif /* MPS_STEER_ENDS_H */
