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

static void fields_of(const struct steer_kind *k, bool asked, char *buf, size_t size)
{
	const struct steer_field *f;
	const char *before = "";
	size_t at = (size_t)snprintf(buf, size, "a %s has", asked ? "connection" : k->name);

	for (f = k->fields; f->name && at < size; f++) {
		if (asked && !f->ask)
			continue;
		at += (size_t)snprintf(buf + at, size - at, "%s %s%s%s", before, f->name,
				       *f->value ? " " : "", f->value);
		before = ",";
	}
}

/* Where a connection is asked for, `row` is its key. */
struct reading_row {
	const struct steer_kind *k;
	enum exit_code usage;
	void *row;
	bool asked;
	struct steer_why *absent; /* or NULL: what is not there is an error */
	unsigned int seen;
};

static enum exit_code read_value(struct reading_row *r, const struct steer_field *f,
				 const char *value)
{
	const unsigned int bit = 1U << (f - r->k->fields);
	struct steer_why why = { .code = EX_USAGE };
	char hint[STEER_LINE];

	if (r->seen & bit)
		return fail(r->usage, "leave one", "%s is given twice", f->name);
	r->seen |= bit;
	if (r->asked ? f->ask(r->row, value, &why) : f->read(r->row, value, &why))
		return EX_OK;
	if (r->absent && why.code != EX_USAGE) {
		/* of several what may not be looked at counts: it may well be there */
		if (r->absent->code == EX_OK || r->absent->code == EX_FAILED)
			*r->absent = why;
		return EX_OK;
	}
	snprintf(hint, sizeof(hint), "%s %s: %s", f->name, f->value, f->text);
	return fail(why.code == EX_USAGE ? r->usage : why.code, why.hint ?: hint, "%s: %s", f->name,
		    why.text);
}

static enum exit_code read_words(struct reading_row *r, const char *const *word, unsigned int nr)
{
	const char *whose = r->asked ? "connection" : r->k->name;
	enum exit_code ret = EX_OK;
	char fields[STEER_LINE];
	unsigned int i;

	fields_of(r->k, r->asked, fields, sizeof(fields));
	for (i = 0; i < nr && ret == EX_OK; i++) {
		const struct steer_field *f = find(r->k, word[i]);

		if (!f || (r->asked && !f->ask))
			return fail(r->usage, fields, "a %s has no field %s", whose, word[i]);
		if (*f->value && ++i == nr)
			return fail(r->usage, fields, "%s is to have a value: %s", f->name,
				    f->value);
		ret = read_value(r, f, *f->value ? word[i] : "");
	}
	return ret;
}

static enum exit_code read_row(struct reading_row *r, const char *const *word, unsigned int nr)
{
	struct steer_why why;
	enum exit_code ret;

	r->k->clear(r->row);
	ret = read_words(r, word, nr);
	if (ret == EX_OK && !r->k->is_whole(r->row, r->seen, &why))
		return fail(r->usage, why.hint, "%s", why.text);
	return ret;
}

enum exit_code steer_read(const struct steer_kind *k, enum exit_code usage, void *row,
			  const char *const *word, unsigned int nr)
{
	struct reading_row r = { .k = k, .usage = usage, .row = row };

	return read_row(&r, word, nr);
}

enum exit_code steer_read_here(const struct steer_kind *k, enum exit_code usage, void *row,
			       const char *const *word, unsigned int nr, struct steer_why *absent)
{
	struct reading_row r = { .k = k, .usage = usage, .row = row, .absent = absent };

	absent->code = EX_OK;
	return read_row(&r, word, nr);
}

enum exit_code steer_ask(struct steer_asked *a, const char *const *word, unsigned int nr)
{
	struct reading_row r = {
		.k = &steer_rule_kind, .usage = EX_USAGE, .row = &a->key, .asked = true
	};
	enum exit_code ret;

	memset(a, 0, sizeof(*a));
	ret = read_words(&r, word, nr);
	a->seen = r.seen;
	return ret;
}

/* Behind what is there already. */
static void add_field(char *buf, size_t size, const char *between, const struct steer_field *f,
		      const char *text)
{
	const size_t at = strlen(buf);

	snprintf(buf + at, size - at, "%s%s%s%s", at ? between : "", f->name, *f->value ? " " : "",
		 *f->value ? text : "");
}

const char *steer_write(const struct steer_kind *k, const void *row, char *buf, size_t size)
{
	const struct steer_field *f;
	char text[STEER_TEXT];

	*buf = '\0';
	for (f = k->fields; f->name; f++)
		if (f->write(row, text, sizeof(text)))
			add_field(buf, size, " ", f, text);
	return buf;
}

__u64 steer_number(const struct steer_field *f, const void *row, unsigned int part)
{
	const char *at = (const char *)row + f->part[part].at;

	switch (f->part[part].size) {
	case sizeof(__u8):
		return *(const __u8 *)at;
	case sizeof(__u16):
		return *(const __u16 *)at;
	case sizeof(__u32):
		return *(const __u32 *)at;
	default:
		return *(const __u64 *)at;
	}
}

/* A rule of just that field of another one. */
static bool field_matches(const struct steer_field *f, const struct mps_steer_rule *r,
			  const struct mps_steer_key *k)
{
	struct mps_steer_rule one;
	unsigned int i;

	steer_rule_kind.clear(&one);
	for (i = 0; i < 2; i++)
		memcpy((char *)&one + f->part[i].at, (const char *)r + f->part[i].at,
		       f->part[i].size);
	return mps_match_rule(&one, k);
}

void steer_compare(struct steer_compared *c, const struct mps_steer_rule *r,
		   const struct steer_asked *a)
{
	const struct steer_field *f;
	char text[STEER_TEXT];

	c->differs[0] = c->depends[0] = '\0';
	for (f = steer_rule_kind.fields; f->name; f++) {
		if (!f->ask || !f->write(r, text, sizeof(text)))
			continue;
		if (!(a->seen & 1U << (f - steer_rule_kind.fields)))
			add_field(c->depends, sizeof(c->depends), ", ", f, text);
		else if (!field_matches(f, r, &a->key))
			add_field(c->differs, sizeof(c->differs), ", ", f, text);
	}
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

/* IPv4 is a prefix, too (state/steer.h): all of this one is within it and none of the other. */
static bool differ(const __u64 *a, const __u64 *a_mask, const __u64 *b, const __u64 *b_mask)
{
	__u64 v4[2], mask[2], apart;
	struct steer_why why;

	value_prefix(v4, mask, "0.0.0.0/0", &why);
	apart = ((b[0] ^ v4[0]) & b_mask[0] & mask[0]) | ((b[1] ^ v4[1]) & b_mask[1] & mask[1]);
	return covers_words(v4, mask, a, a_mask) && apart;
}

bool steer_ends_differ(const struct mps_steer_prefixes *ends)
{
	return differ(ends->local, ends->local_mask, ends->remote, ends->remote_mask) ||
	       differ(ends->remote, ends->remote_mask, ends->local, ends->local_mask);
}
