// SPDX-License-Identifier: GPL-2.0
/* The fields of a path. */
#include <stdio.h>
#include <string.h>
#include "sched/steer_fields.h"
#include "sched/steer_values.h"

#define MAX_RTT_US 60000000U

/* Of 1 to size - 1 visible characters, none of them one of those. */
static bool is_word(const char *value, size_t size, const char *without)
{
	const char *at;

	for (at = value; *at > ' ' && *at < 0x7f; at++)
		;
	return *value && !*at && strlen(value) < size && !strpbrk(value, without);
}

static bool read_name(void *row, const char *value, char *why)
{
	struct mps_steer_path *p = row;

	if (!is_word(value, sizeof(p->name), "/#")) {
		snprintf(why, STEER_WHY, "a name has 1 to %zu characters, no blanks, / or #: %s",
			 sizeof(p->name) - 1, value);
		return false;
	}
	memset(p->name, 0, sizeof(p->name));
	memcpy(p->name, value, strlen(value));
	return true;
}

static bool write_name(const void *row, char *buf, size_t size)
{
	snprintf(buf, size, "%s", ((const struct mps_steer_path *)row)->name);
	return true;
}

static bool read_device(void *row, const char *value, char *why)
{
	struct mps_steer_path *p = row;

	if (!is_word(value, sizeof(p->device), "/:#")) {
		snprintf(why, STEER_WHY, "not the name of a device: %s", value);
		return false;
	}
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

static bool read_local(void *row, const char *value, char *why)
{
	struct mps_steer_path *p = row;

	return value_prefix(p->ends.local, p->ends.local_mask, value, why);
}

static bool write_local(const void *row, char *buf, size_t size)
{
	const struct mps_steer_prefixes *e = &((const struct mps_steer_path *)row)->ends;

	if (e->local_mask[0] | e->local_mask[1])
		text_prefix(e->local, e->local_mask, buf, size);
	return e->local_mask[0] | e->local_mask[1];
}

static bool read_remote(void *row, const char *value, char *why)
{
	struct mps_steer_path *p = row;

	return value_prefix(p->ends.remote, p->ends.remote_mask, value, why);
}

static bool write_remote(const void *row, char *buf, size_t size)
{
	const struct mps_steer_prefixes *e = &((const struct mps_steer_path *)row)->ends;

	if (e->remote_mask[0] | e->remote_mask[1])
		text_prefix(e->remote, e->remote_mask, buf, size);
	return e->remote_mask[0] | e->remote_mask[1];
}

/* A member that is a number of so much at most, and says nothing where it is `unset`. */
#define NUMBER_FIELD(member, least, most, unset)                                                \
	static bool read_##member(void *row, const char *value, char *why)                      \
	{                                                                                       \
		__u64 number;                                                                   \
                                                                                                \
		if (!value_number(&number, value, most, why))                                   \
			return false;                                                           \
		if ((__s64)number < (least)) {                                                  \
			snprintf(why, STEER_WHY, "not a number from %d to %d: %s", least, most, \
				 value);                                                        \
			return false;                                                           \
		}                                                                               \
		((struct mps_steer_path *)row)->member =                                        \
			(typeof(((struct mps_steer_path *)0)->member))number;                   \
		return true;                                                                    \
	}                                                                                       \
	static bool write_##member(const void *row, char *buf, size_t size)                     \
	{                                                                                       \
		const int value = ((const struct mps_steer_path *)row)->member;                 \
                                                                                                \
		snprintf(buf, size, "%d", value);                                               \
		return value != (unset);                                                        \
	}

#define NO_VALUE (-2)

NUMBER_FIELD(local_id, 0, 255, MPS_STEER_ANY_ID)
NUMBER_FIELD(remote_id, 0, 255, MPS_STEER_ANY_ID)
NUMBER_FIELD(rank, 0, MPS_STEER_RANK_MAX, NO_VALUE)
NUMBER_FIELD(weight, MPS_STEER_WEIGHT_MIN, MPS_STEER_WEIGHT_MAX, 0)

#define FLAG_FIELD(name, bit)                                               \
	static bool read_##name(void *row, const char *value, char *why)    \
	{                                                                   \
		((struct mps_steer_path *)row)->flags |= (bit);             \
		return true;                                                \
	}                                                                   \
	static bool write_##name(const void *row, char *buf, size_t size)   \
	{                                                                   \
		*buf = '\0';                                                \
		return ((const struct mps_steer_path *)row)->flags & (bit); \
	}

FLAG_FIELD(backup, MPS_STEER_ONLY_BACKUP)
FLAG_FIELD(metered, MPS_STEER_METERED)

static bool read_rtt(void *row, const char *value, char *why)
{
	struct mps_steer_path *p = row;

	if (!value_time(&p->rtt_us, value, MAX_RTT_US, why))
		return false;
	if (!p->rtt_us)
		snprintf(why, STEER_WHY, "no path has an RTT of 0: leave the threshold out");
	return p->rtt_us;
}

static bool write_rtt(const void *row, char *buf, size_t size)
{
	const struct mps_steer_path *p = row;

	text_time(p->rtt_us, buf, size);
	return p->rtt_us;
}

static const struct steer_field path_fields[] = {
	{ "name", "NAME", "to speak of it", read_name, write_name, true },
	{ "device", "DEVICE", "where its route leads", read_device, write_device, false },
	{ "local", "PREFIX", "this end's address", read_local, write_local, false },
	{ "remote", "PREFIX", "the peer's address", read_remote, write_remote, false },
	{ "id", "NUMBER", "of this end's address, as in `ip mptcp endpoint`", read_local_id,
	  write_local_id, false },
	{ "remote-id", "NUMBER", "of the peer's address, as the peer numbers its own",
	  read_remote_id, write_remote_id, false },
	{ "backup", NULL, "one that either end wants as a backup only", read_backup, write_backup,
	  false },
	{ "rank", "NUMBER", "of active-standby and priority, the lowest first (0)", read_rank,
	  write_rank, true },
	{ "weight", "NUMBER", "of load-balancing, 1 to 100 (1)", read_weight, write_weight, true },
	{ "rtt", "TIME", "with a greater one it gets new data only if no other path does better",
	  read_rtt, write_rtt, true },
	{ "metered", NULL, "by rank behind all that are not, and no copies for it", read_metered,
	  write_metered, true },
	{ 0 },
};

static void clear_path(void *row)
{
	struct mps_steer_path *p = row;

	memset(p, 0, sizeof(*p));
	p->local_id = p->remote_id = MPS_STEER_ANY_ID;
}

const struct steer_kind steer_path_kind = {
	.name = "path",
	.size = sizeof(struct mps_steer_path),
	.fields = path_fields,
	.clear = clear_path,
};
