// SPDX-License-Identifier: GPL-2.0
/* The fields of a rule. */
#include <stdio.h>
#include <string.h>
#include "cli/steer_mode.h"
#include "sched/steer_ends.h"
#include "sched/steer_fields.h"
#include "sched/steer_objects.h"

#define MAX_DEADLINE_US 3600000000U
#define MAX_BUDGET 100

static bool ask_local(struct mps_steer_key *key, const char *value, struct steer_why *why)
{
	return value_address(key->local, value, why);
}

static bool ask_remote(struct mps_steer_key *key, const char *value, struct steer_why *why)
{
	return value_address(key->remote, value, why);
}

#define PORT_FIELD(which)                                                              \
	static bool read_##which(void *row, const char *value, struct steer_why *why)  \
	{                                                                              \
		return value_ports(((struct mps_steer_rule *)row)->which, value, why); \
	}                                                                              \
	static bool write_##which(const void *row, char *buf, size_t size)             \
	{                                                                              \
		const __u16 *range = ((const struct mps_steer_rule *)row)->which;      \
                                                                                       \
		text_ports(range, buf, size);                                          \
		return range[0] || range[1] != 65535;                                  \
	}                                                                              \
	static bool ask_##which(struct mps_steer_key *key, const char *value,          \
				struct steer_why *why)                                 \
	{                                                                              \
		return value_port(&key->which, value, why);                            \
	}

PORT_FIELD(local_port)
PORT_FIELD(remote_port)

static void set_word(void *row, enum mps_steer_word word, __u32 value, __u32 mask)
{
	struct mps_steer_rule *r = row;

	r->word[word] = value;
	r->mask[word] = mask;
}

/* What is compared as a whole. */
#define WORD_FIELD(which, index, value_of, text_of)                                   \
	static bool read_##which(void *row, const char *value, struct steer_why *why) \
	{                                                                             \
		__u32 number = 0;                                                     \
		const bool good = value_of(&number, value, why);                      \
                                                                                      \
		set_word(row, index, number, ~0U);                                    \
		return good;                                                          \
	}                                                                             \
	static bool write_##which(const void *row, char *buf, size_t size)            \
	{                                                                             \
		const struct mps_steer_rule *r = row;                                 \
                                                                                      \
		if (r->mask[index])                                                   \
			text_of(r->word[index], buf, size);                           \
		return r->mask[index];                                                \
	}                                                                             \
	static bool ask_##which(struct mps_steer_key *key, const char *value,         \
				struct steer_why *why)                                \
	{                                                                             \
		return value_of(&key->word[index], value, why);                       \
	}

WORD_FIELD(dscp, MPS_STEER_DSCP, value_dscp, text_dscp)
WORD_FIELD(priority, MPS_STEER_SO_PRIORITY, value_word, text_word)
WORD_FIELD(uid, MPS_STEER_UID, value_uid, text_word)
WORD_FIELD(netns, MPS_STEER_NETNS, value_netns, text_netns)

/* As in ip-rule: MARK or MARK/MASK */
static bool read_mark(void *row, const char *value, struct steer_why *why)
{
	const char *slash = strchr(value, '/');
	__u32 mark, mask = ~0U;
	char first[32];

	snprintf(first, sizeof(first), "%.*s", slash ? (int)(slash - value) : 31, value);
	if ((slash && slash - value > 31) || !value_word(&mark, slash ? first : value, why) ||
	    (slash && !value_word(&mask, slash + 1, why)))
		return value_wrong(why, "not a number or NUMBER/MASK of 32 bits: %s", value);
	if (!mask || mark & ~mask)
		return value_wrong(why, "no mark has these bits under that mask: %s", value);
	set_word(row, MPS_STEER_MARK, mark, mask);
	return true;
}

static bool write_mark(const void *row, char *buf, size_t size)
{
	const struct mps_steer_rule *r = row;
	const __u32 mask = r->mask[MPS_STEER_MARK];
	int at = snprintf(buf, size, "0x%x", r->word[MPS_STEER_MARK]);

	if (mask != ~0U)
		snprintf(buf + at, size - (size_t)at, "/0x%x", mask);
	return mask;
}

static bool ask_mark(struct mps_steer_key *key, const char *value, struct steer_why *why)
{
	if (strchr(value, '/'))
		return value_wrong(why, "a connection has one mark, and no mask: %s", value);
	return value_word(&key->word[MPS_STEER_MARK], value, why);
}

static bool read_cgroup(void *row, const char *value, struct steer_why *why)
{
	struct mps_steer_rule *r = row;
	__u64 ids[MPS_STEER_LEVELS];
	unsigned int level;

	if (!value_cgroup(ids, &level, value, why))
		return false;
	r->cgroup = ids[level];
	r->cgroup_level = (__u8)level;
	return true;
}

static bool write_cgroup(const void *row, char *buf, size_t size)
{
	const struct mps_steer_rule *r = row;

	if (r->cgroup)
		text_cgroup(r->cgroup, buf, size);
	return r->cgroup;
}

/* A connection is in its cgroup, and in all above it. */
static bool ask_cgroup(struct mps_steer_key *key, const char *value, struct steer_why *why)
{
	unsigned int level;

	return value_cgroup(key->cgroup, &level, value, why);
}

static bool read_mode(void *row, const char *value, struct steer_why *why)
{
	struct mps_steer_rule *r = row;
	size_t at;
	__u8 i;

	for (i = 0; i < MPS_NR_STEER_MODES; i++) {
		if (!strcmp(steer_mode_name(i), value)) {
			r->mode = i;
			return true;
		}
	}
	value_wrong(why, "none of");
	for (i = 0; i < MPS_NR_STEER_MODES && (at = strlen(why->text)) < sizeof(why->text); i++)
		snprintf(why->text + at, sizeof(why->text) - at, "%s %s", i ? "," : "",
			 steer_mode_name(i));
	return false;
}

static bool write_mode(const void *row, char *buf, size_t size)
{
	snprintf(buf, size, "%s", steer_mode_name(((const struct mps_steer_rule *)row)->mode));
	return true;
}

static bool read_deadline_us(void *row, const char *value, struct steer_why *why)
{
	struct mps_steer_rule *r = row;

	r->deadline_us = MPS_STEER_NO_DEADLINE;
	return !strcmp(value, "none") ||
	       value_time(&r->deadline_us, value, 0, MAX_DEADLINE_US, why);
}

static bool write_deadline_us(const void *row, char *buf, size_t size)
{
	const struct mps_steer_rule *r = row;

	if (r->deadline_us == MPS_STEER_NO_DEADLINE)
		snprintf(buf, size, "none");
	else
		text_time(r->deadline_us, buf, size);
	return r->mode == MPS_STEER_PRIORITY;
}

static bool read_budget(void *row, const char *value, struct steer_why *why)
{
	struct mps_steer_rule *r = row;

	r->budget = 0;
	return !strcmp(value, "none") || value_percent(&r->budget, value, 1, MAX_BUDGET, why);
}

static bool write_budget(const void *row, char *buf, size_t size)
{
	const struct mps_steer_rule *r = row;

	text_percent(r->budget, buf, size);
	return r->budget;
}

/* In the table's order. */
enum {
#define FIELD_ENUM(id, ...) FIELD_##id,
	STEER_RULE_MATCHES(FIELD_ENUM) STEER_RULE_OPTIONS(FIELD_ENUM)
#undef FIELD_ENUM
};

static const struct steer_field rule_fields[] = {
#define MATCH_FIELD(id, ...) STEER_FIELD(struct mps_steer_rule, id, __VA_ARGS__, ask_##id),
#define OPTION_FIELD(id, ...) STEER_FIELD(struct mps_steer_rule, id, __VA_ARGS__, NULL),
	STEER_RULE_MATCHES(MATCH_FIELD) STEER_RULE_OPTIONS(OPTION_FIELD)
#undef MATCH_FIELD
#undef OPTION_FIELD
		{ 0 },
};

static void clear_rule(void *row)
{
	struct mps_steer_rule *r = row;

	memset(r, 0, sizeof(*r));
	r->local_port[1] = r->remote_port[1] = 65535;
	r->deadline_us = MPS_STEER_DEADLINE_US;
}

/* An option of just that mode. */
static bool has_option(const struct mps_steer_rule *r, unsigned int seen, unsigned int field,
		       unsigned int mode, struct steer_why *why)
{
	static char hint[60];

	if (!(seen & 1U << field) || r->mode == mode)
		return true;
	value_wrong(why, "%s: mode %s has none", rule_fields[field].name, steer_mode_name(r->mode));
	snprintf(hint, sizeof(hint), "leave it out, or take mode %s", steer_mode_name(mode));
	why->hint = hint;
	return false;
}

static bool is_whole_rule(const void *row, unsigned int seen, struct steer_why *why)
{
	const struct mps_steer_rule *r = row;

	if (!(seen & 1U << FIELD_mode)) {
		value_wrong(why, "the rule has no mode");
		why->hint = "say what is done, such as mode priority";
		return false;
	}
	return has_option(r, seen, FIELD_deadline_us, MPS_STEER_PRIORITY, why) &&
	       has_option(r, seen, FIELD_budget, MPS_STEER_REDUNDANT, why);
}

const struct steer_kind steer_rule_kind = {
	.name = "rule",
	.fields = rule_fields,
	.clear = clear_rule,
	.is_whole = is_whole_rule,
};
