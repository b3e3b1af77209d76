// SPDX-License-Identifier: GPL-2.0
/* The fields of a path. */
#include <stdio.h>
#include <string.h>
#include "cli/steer_mode.h"
#include "sched/steer_ends.h"
#include "sched/steer_fields.h"

#define MAX_RTT_US 60000000U

static bool read_name(void *row, const char *value, struct steer_why *why)
{
	struct mps_steer_path *p = row;

	if (!value_is_word(value, sizeof(p->name), "/#"))
		return value_wrong(why, "a name has 1 to %zu characters, no blanks, / or #: %s",
				   sizeof(p->name) - 1, value);
	memset(p->name, 0, sizeof(p->name));
	memcpy(p->name, value, strlen(value));
	return true;
}

static bool write_name(const void *row, char *buf, size_t size)
{
	snprintf(buf, size, "%s", ((const struct mps_steer_path *)row)->name);
	return true;
}

static bool read_device(void *row, const char *value, struct steer_why *why)
{
	struct mps_steer_path *p = row;

	if (!value_is_word(value, sizeof(p->device), "/:#"))
		return value_wrong(why, "not the name of a device: %s", value);
	memset(p->device, 0, sizeof(p->device));
	memcpy(p->device, value, strlen(value));
	return true;
}

static bool write_device(const void *row, char *buf, size_t size)
{
	const struct mps_steer_path *p = row;

	snprintf(buf, size, "%.*s", MPS_STEER_DEVICE, (const char *)p->device);
	return *buf;
}

/* A member that is a number from min to max, and says nothing where it is `unset`. */
#define NUMBER_FIELD(id, member, min, max, unset)                                  \
	static bool read_##id(void *row, const char *value, struct steer_why *why) \
	{                                                                          \
		struct mps_steer_path *p = row;                                    \
		__u64 number = 0;                                                  \
		const bool good = value_number(&number, value, min, max, why);     \
                                                                                   \
		p->member = (typeof(p->member))number;                             \
		return good;                                                       \
	}                                                                          \
	static bool write_##id(const void *row, char *buf, size_t size)            \
	{                                                                          \
		const int value = ((const struct mps_steer_path *)row)->member;    \
                                                                                   \
		snprintf(buf, size, "%d", value);                                  \
		return value != (unset);                                           \
	}

#define NO_VALUE (-2)

NUMBER_FIELD(id, local_id, 0, 255, MPS_STEER_ANY_ID)
NUMBER_FIELD(remote_id, remote_id, 0, 255, MPS_STEER_ANY_ID)
NUMBER_FIELD(rank, rank, 0, MPS_STEER_RANK_MAX, NO_VALUE)
NUMBER_FIELD(weight, weight, MPS_STEER_WEIGHT_MIN, MPS_STEER_WEIGHT_MAX, 0)

#define FLAG_FIELD(name, bit)                                                        \
	static bool read_##name(void *row, const char *value, struct steer_why *why) \
	{                                                                            \
		((struct mps_steer_path *)row)->flags |= (bit);                      \
		return true;                                                         \
	}                                                                            \
	static bool write_##name(const void *row, char *buf, size_t size)            \
	{                                                                            \
		*buf = '\0';                                                         \
		return ((const struct mps_steer_path *)row)->flags & (bit);          \
	}

FLAG_FIELD(backup, MPS_STEER_ONLY_BACKUP)
FLAG_FIELD(metered, MPS_STEER_METERED)

/* Without a threshold any RTT will do. */
static bool read_rtt_us(void *row, const char *value, struct steer_why *why)
{
	struct mps_steer_path *p = row;

	return value_time(&p->rtt_us, value, 1, MAX_RTT_US, why);
}

static bool write_rtt_us(const void *row, char *buf, size_t size)
{
	const struct mps_steer_path *p = row;

	text_time(p->rtt_us, buf, size);
	return p->rtt_us;
}

static bool read_loss(void *row, const char *value, struct steer_why *why)
{
	struct mps_steer_path *p = row;

	return value_percent(&p->loss, value, MPS_LOSS_MIN, MPS_LOSS_MAX, why);
}

static bool write_loss(const void *row, char *buf, size_t size)
{
	const struct mps_steer_path *p = row;

	text_percent(p->loss, buf, size);
	return p->loss;
}

static bool read_cap(void *row, const char *value, struct steer_why *why)
{
	return value_amount(&((struct mps_steer_path *)row)->account.cap, value, why);
}

static bool write_cap(const void *row, char *buf, size_t size)
{
	const struct mps_steer_path *p = row;

	if (p->account.cap)
		text_amount(p->account.cap, buf, size);
	return p->account.cap;
}

static bool read_period(void *row, const char *value, struct steer_why *why)
{
	struct mps_steer_path *p = row;
	__u8 i;

	for (i = MPS_STEER_DAY; i < MPS_NR_STEER_PERIODS; i++) {
		if (!strcmp(steer_period_name(i), value)) {
			p->account.period = i;
			return true;
		}
	}
	return value_wrong(why, "none of day, week, month: %s", value);
}

static bool write_period(const void *row, char *buf, size_t size)
{
	const struct mps_steer_path *p = row;

	snprintf(buf, size, "%s", steer_period_name(p->account.period));
	return p->account.period;
}

NUMBER_FIELD(day, account.day, 1, 31, 1)

static bool read_only(void *row, const char *value, struct steer_why *why)
{
	struct mps_steer_path *p = row;
	const bool block = !strcmp(value, "block");

	if (!block && strcmp(value, "allow"))
		return value_wrong(why, "neither allow nor block: %s", value);
	p->flags |= block * MPS_STEER_BLOCK;
	return true;
}

static bool write_only(const void *row, char *buf, size_t size)
{
	snprintf(buf, size, "block");
	return ((const struct mps_steer_path *)row)->flags & MPS_STEER_BLOCK;
}

/* In the table's order. */
enum {
#define FIELD_ENUM(id, ...) PATH_HAS_##id,
	STEER_PATH_FIELDS(FIELD_ENUM)
#undef FIELD_ENUM
};

static const struct steer_field path_fields[] = {
#define PATH_FIELD(id, ...) STEER_FIELD(struct mps_steer_path, id, __VA_ARGS__, NULL),
	STEER_PATH_FIELDS(PATH_FIELD)
#undef PATH_FIELD
		{ 0 },
};

static void clear_path(void *row)
{
	struct mps_steer_path *p = row;

	memset(p, 0, sizeof(*p));
	p->local_id = p->remote_id = MPS_STEER_ANY_ID;
	p->account.day = 1;
	p->account.slot = MPS_STEER_SLOTS;
}

/* hint: what to do; false */
static bool goes_without(const struct mps_steer_path *p, struct steer_why *why, const char *field,
			 const char *lacks, const char *hint)
{
	value_wrong(why, "%s: path %s has no %s", field, p->name, lacks);
	why->hint = hint;
	return false;
}

static bool is_whole_cap(const struct mps_steer_path *p, unsigned int seen, struct steer_why *why)
{
	const bool cap = seen & 1U << PATH_HAS_cap, period = seen & 1U << PATH_HAS_period;

	if (cap && !period)
		return goes_without(p, why, "cap", "period", "say for how long, as period month");
	if (period && !cap)
		return goes_without(p, why, "period", "cap", "say how much, as cap 10G");
	if (seen & 1U << PATH_HAS_only && !cap)
		return goes_without(p, why, "only", "cap",
				    "leave it out, or say how much, as cap 10G");
	if (seen & 1U << PATH_HAS_day && p->account.period != MPS_STEER_MONTH)
		return goes_without(p, why, "day", "period of a month",
				    "leave it out, or take period month");
	return true;
}

static bool is_whole_path(const void *row, unsigned int seen, struct steer_why *why)
{
	const struct mps_steer_path *p = row;

	if (*p->name)
		return is_whole_cap(p, seen, why);
	value_wrong(why, "the path has no name");
	why->hint = "give it one: name NAME";
	return false;
}

const struct steer_kind steer_path_kind = {
	.name = "path",
	.fields = path_fields,
	.clear = clear_path,
	.is_whole = is_whole_path,
};
