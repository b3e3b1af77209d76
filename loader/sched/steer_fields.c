// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <string.h>
#include "policy/match.h"
#include "sched/steer_fields.h"
#include "sched/steer_values.h"

#define MAX_DEADLINE_US 3600000000U

static const char *const mode_names[] = {
#define MODE_NAME(id, name, policy, text) name,
	MPS_STEER_MODES(MODE_NAME)
#undef MODE_NAME
};

const char *steer_mode_name(unsigned int mode)
{
	return mode < MPS_NR_STEER_MODES ? mode_names[mode] : "?";
}

/* Both kinds of rows begin with their prefixes. */
_Static_assert(!offsetof(struct mps_steer_rule, ends) && !offsetof(struct mps_steer_path, ends),
	       "prefixes");

static bool read_local(void *row, const char *value, char *why)
{
	struct mps_steer_prefixes *p = row;

	return value_prefix(p->local, p->local_mask, value, why);
}

static bool read_remote(void *row, const char *value, char *why)
{
	struct mps_steer_prefixes *p = row;

	return value_prefix(p->remote, p->remote_mask, value, why);
}

static bool write_local(const void *row, char *buf, size_t size)
{
	const struct mps_steer_prefixes *p = row;

	if (p->local_mask[0] | p->local_mask[1])
		text_prefix(p->local, p->local_mask, buf, size);
	return p->local_mask[0] | p->local_mask[1];
}

static bool write_remote(const void *row, char *buf, size_t size)
{
	const struct mps_steer_prefixes *p = row;

	if (p->remote_mask[0] | p->remote_mask[1])
		text_prefix(p->remote, p->remote_mask, buf, size);
	return p->remote_mask[0] | p->remote_mask[1];
}

static bool read_mode(void *row, const char *value, char *why)
{
	struct mps_steer_rule *r = row;
	size_t at = 0;
	__u8 i;

	for (i = 0; i < MPS_NR_STEER_MODES; i++) {
		if (!strcmp(mode_names[i], value)) {
			r->mode = i;
			return true;
		}
	}
	for (i = 0; i < MPS_NR_STEER_MODES && at < STEER_WHY; i++)
		at += (size_t)snprintf(why + at, STEER_WHY - at, "%s%s", at ? ", " : "none of ",
				       mode_names[i]);
	return false;
}

static bool write_mode(const void *row, char *buf, size_t size)
{
	snprintf(buf, size, "%s", steer_mode_name(((const struct mps_steer_rule *)row)->mode));
	return true;
}

#define PORT_FIELD(which)                                                              \
	static bool read_##which(void *row, const char *value, char *why)              \
	{                                                                              \
		return value_ports(((struct mps_steer_rule *)row)->which, value, why); \
	}                                                                              \
	static bool write_##which(const void *row, char *buf, size_t size)             \
	{                                                                              \
		const __u16 *range = ((const struct mps_steer_rule *)row)->which;      \
                                                                                       \
		text_ports(range, buf, size);                                          \
		return range[0] || range[1] != 65535;                                  \
	}

PORT_FIELD(local_port)
PORT_FIELD(remote_port)

static void set_word(void *row, enum mps_steer_word word, __u32 value, __u32 mask)
{
	struct mps_steer_rule *r = row;

	r->word[word] = value;
	r->mask[word] = mask;
}

static bool read_dscp(void *row, const char *value, char *why)
{
	__u32 dscp = 0;
	bool good = value_dscp(&dscp, value, why);

	set_word(row, MPS_STEER_DSCP, dscp, ~0U);
	return good;
}

static bool write_dscp(const void *row, char *buf, size_t size)
{
	const struct mps_steer_rule *r = row;

	text_dscp(r->word[MPS_STEER_DSCP], buf, size);
	return r->mask[MPS_STEER_DSCP];
}

/* As in ip-rule: MARK or MARK/MASK */
static bool read_mark(void *row, const char *value, char *why)
{
	const char *slash = strchr(value, '/');
	char first[32];
	__u64 mark, mask = ~0U;

	snprintf(first, sizeof(first), "%.*s", slash ? (int)(slash - value) : 31, value);
	if (!value_number(&mark, first, ~0U, why) ||
	    (slash && !value_number(&mask, slash + 1, ~0U, why)))
		return false;
	if (!mask || mark & ~mask) {
		snprintf(why, STEER_WHY, "no mark has these bits under that mask: %s", value);
		return false;
	}
	set_word(row, MPS_STEER_MARK, (__u32)mark, (__u32)mask);
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

static bool read_priority(void *row, const char *value, char *why)
{
	__u64 number;

	if (!value_number(&number, value, ~0U, why))
		return false;
	set_word(row, MPS_STEER_SO_PRIORITY, (__u32)number, ~0U);
	return true;
}

static bool write_priority(const void *row, char *buf, size_t size)
{
	const struct mps_steer_rule *r = row;

	snprintf(buf, size, "%u", r->word[MPS_STEER_SO_PRIORITY]);
	return r->mask[MPS_STEER_SO_PRIORITY];
}

static bool read_uid(void *row, const char *value, char *why)
{
	__u32 uid;

	if (!value_uid(&uid, value, why))
		return false;
	set_word(row, MPS_STEER_UID, uid, ~0U);
	return true;
}

static bool write_uid(const void *row, char *buf, size_t size)
{
	const struct mps_steer_rule *r = row;

	snprintf(buf, size, "%u", r->word[MPS_STEER_UID]);
	return r->mask[MPS_STEER_UID];
}

static bool read_netns(void *row, const char *value, char *why)
{
	__u32 inode;

	if (!value_netns(&inode, value, why))
		return false;
	set_word(row, MPS_STEER_NETNS, inode, ~0U);
	return true;
}

static bool write_netns(const void *row, char *buf, size_t size)
{
	const struct mps_steer_rule *r = row;

	if (r->mask[MPS_STEER_NETNS])
		text_netns(r->word[MPS_STEER_NETNS], buf, size);
	return r->mask[MPS_STEER_NETNS];
}

static bool read_cgroup(void *row, const char *value, char *why)
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

static bool read_deadline(void *row, const char *value, char *why)
{
	struct mps_steer_rule *r = row;

	r->deadline_us = MPS_STEER_NO_DEADLINE;
	return !strcmp(value, "none") || value_time(&r->deadline_us, value, MAX_DEADLINE_US, why);
}

static bool write_deadline(const void *row, char *buf, size_t size)
{
	const struct mps_steer_rule *r = row;

	if (r->deadline_us == MPS_STEER_NO_DEADLINE)
		snprintf(buf, size, "none");
	else
		text_time(r->deadline_us, buf, size);
	return r->mode == MPS_STEER_PRIORITY;
}

static const struct steer_field rule_fields[] = {
	{ "local", "PREFIX", "this end's address", read_local, write_local, false },
	{ "local-port", "PORT[-PORT]", "this end's port", read_local_port, write_local_port,
	  false },
	{ "remote", "PREFIX", "the peer's address", read_remote, write_remote, false },
	{ "remote-port", "PORT[-PORT]", "the peer's port", read_remote_port, write_remote_port,
	  false },
	{ "dscp", "NAME|NUMBER", "of the socket, IP_TOS", read_dscp, write_dscp, false },
	{ "mark", "MARK[/MASK]", "of the socket, SO_MARK", read_mark, write_mark, false },
	{ "priority", "NUMBER", "of the socket, SO_PRIORITY", read_priority, write_priority,
	  false },
	{ "uid", "USER|NUMBER", "whose socket it is", read_uid, write_uid, false },
	{ "cgroup", "PATH", "of the process that made the socket, or one above it", read_cgroup,
	  write_cgroup, false },
	{ "netns", "NAME|PATH|PID", "its network namespace", read_netns, write_netns, false },
	{ "mode", "MODE", "what is done with it", read_mode, write_mode, true },
	{ "deadline", "TIME|none", "of priority: after which the next rank helps (1s)",
	  read_deadline, write_deadline, true },
	{ 0 },
};

static void clear_rule(void *row)
{
	struct mps_steer_rule *r = row;

	memset(r, 0, sizeof(*r));
	r->local_port[1] = r->remote_port[1] = 65535;
	r->deadline_us = MPS_STEER_DEADLINE_US;
}

const struct steer_kind steer_rule_kind = {
	.name = "rule",
	.size = sizeof(struct mps_steer_rule),
	.fields = rule_fields,
	.clear = clear_rule,
};
