// SPDX-License-Identifier: GPL-2.0
/* Rows of either table, by the tables of their fields. */
#include <stdio.h>
#include <string.h>
#include "policy/match.h"
#include "sched/steer_fields.h"

static const struct steer_field *find(const struct steer_kind *k, const char *name)
{
	const struct steer_field *f;

	for (f = k->fields; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

static void fields_of(const struct steer_kind *k, char *buf, size_t size)
{
	const struct steer_field *f;
	size_t at = (size_t)snprintf(buf, size, "a %s has", k->name);

	for (f = k->fields; f->name && at < size; f++)
		at += (size_t)snprintf(buf + at, size - at, "%s %s%s%s", f == k->fields ? "" : ",",
				       f->name, f->value ? " " : "", f->value ?: "");
}

enum exit_code steer_read(const struct steer_kind *k, enum exit_code usage, void *row,
			  const char *const *word, unsigned int nr)
{
	char why[STEER_WHY] = "", fields[STEER_LINE];
	unsigned int i, seen = 0, bit;

	k->clear(row);
	fields_of(k, fields, sizeof(fields));
	for (i = 0; i < nr; i++) {
		const struct steer_field *f = find(k, word[i]);
		const char *value = "";

		if (!f)
			return fail(usage, fields, "a %s has no field %s", k->name, word[i]);
		bit = 1U << (f - k->fields);
		if (seen & bit)
			return fail(usage, "leave one", "%s is given twice", f->name);
		seen |= bit;
		if (f->value && i + 1 == nr)
			return fail(usage, fields, "%s is to have a value: %s", f->name, f->value);
		if (f->value)
			value = word[++i];
		if (!f->read(row, value, why))
			return fail(EX_FAILED, NULL, "%s: %s", f->name, why);
	}
	return EX_OK;
}

const char *steer_write(const struct steer_kind *k, const void *row, enum steer_part part,
			char *buf, size_t size)
{
	const struct steer_field *f;
	char text[STEER_TEXT];
	size_t at = 0;

	*buf = '\0';
	for (f = k->fields; f->name && at < size; f++) {
		if (part != STEER_ALL && f->options != (part == STEER_OPTIONS))
			continue;
		if (f->write(row, text, sizeof(text)))
			at += (size_t)snprintf(buf + at, size - at, "%s%s%s%s", at ? " " : "",
					       f->name, f->value ? " " : "", f->value ? text : "");
	}
	return buf;
}

/* A rule of just that field of another one. */
static bool field_matches(const struct steer_field *f, const char *text,
			  const struct mps_steer_key *k)
{
	struct mps_steer_rule one;
	char why[STEER_WHY];

	steer_rule_kind.clear(&one);
	return f->read(&one, text, why) && mps_match_rule(&one, k);
}

const char *steer_differs(const struct mps_steer_rule *r, const struct mps_steer_key *k, char *buf,
			  size_t size)
{
	const struct steer_field *f;
	char text[STEER_TEXT];
	size_t at = 0;

	*buf = '\0';
	for (f = steer_rule_kind.fields; f->name && at < size; f++)
		if (!f->options && f->write(r, text, sizeof(text)) && !field_matches(f, text, k))
			at += (size_t)snprintf(buf + at, size - at, "%s%s %s", at ? ", " : "",
					       f->name, text);
	return buf;
}

/* a is as wide as b, or wider: it asks for nothing that b does not. */
static bool covers_words(const __u64 *a, const __u64 *a_mask, const __u64 *b, const __u64 *b_mask)
{
	return !(a_mask[0] & ~b_mask[0]) && !(a_mask[1] & ~b_mask[1]) &&
	       !((a[0] ^ b[0]) & a_mask[0]) && !((a[1] ^ b[1]) & a_mask[1]);
}

static bool covers_ends(const struct mps_steer_prefixes *a, const struct mps_steer_prefixes *b)
{
	return covers_words(a->local, a->local_mask, b->local, b->local_mask) &&
	       covers_words(a->remote, a->remote_mask, b->remote, b->remote_mask);
}

bool steer_covers_rule(const struct mps_steer_rule *a, const struct mps_steer_rule *b)
{
	unsigned int i;

	for (i = 0; i < MPS_NR_STEER_WORDS; i++)
		if (a->mask[i] & ~b->mask[i] || (a->word[i] ^ b->word[i]) & a->mask[i])
			return false;
	return covers_ends(&a->ends, &b->ends) && a->local_port[0] <= b->local_port[0] &&
	       a->local_port[1] >= b->local_port[1] && a->remote_port[0] <= b->remote_port[0] &&
	       a->remote_port[1] >= b->remote_port[1] && (!a->cgroup || a->cgroup == b->cgroup);
}

bool steer_covers_path(const struct mps_steer_path *a, const struct mps_steer_path *b)
{
	return covers_ends(&a->ends, &b->ends) &&
	       (!a->device[0] || !memcmp(a->device, b->device, sizeof(a->device))) &&
	       (a->local_id == MPS_STEER_ANY_ID || a->local_id == b->local_id) &&
	       (a->remote_id == MPS_STEER_ANY_ID || a->remote_id == b->remote_id) &&
	       !(a->flags & ~b->flags & MPS_STEER_ONLY_BACKUP);
}

void steer_key_of(struct mps_steer_key *k, const struct mps_steer_rule *r)
{
	memset(k, 0, sizeof(*k));
	memcpy(k->local, r->ends.local, sizeof(k->local));
	memcpy(k->remote, r->ends.remote, sizeof(k->remote));
	memcpy(k->word, r->word, sizeof(k->word));
	k->local_port = r->local_port[0];
	k->remote_port = r->remote_port[0];
	k->cgroup[r->cgroup_level] = r->cgroup;
}
