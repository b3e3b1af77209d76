// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/util.h"
#include "replay/replay.h"
#include "sched/tunable_table.h"
#include "sched/tunable_value.h"

struct replay_state {
	__u32 token;
	struct mps_priv priv;
};

const char *replay_class_name(unsigned int class)
{
	static const char *const names[] = {
		"send",
#define CLASS_NAME(id, name, text) "wait " #name,
		MPS_WAIT_REASONS(CLASS_NAME)
#undef CLASS_NAME
			"copy",
		"no copy",
	};

	return names[class];
}

const struct replay_sched *replay_find(const char *name, size_t len)
{
	unsigned int i;

	for (i = 0; i < nr_replay_scheds; i++)
		if (strlen(replay_scheds[i]->name) == len &&
		    !strncmp(replay_scheds[i]->name, name, len))
			return replay_scheds[i];
	return NULL;
}

/* --- tunables */

static unsigned int nr_tunables(const struct replay_sched *s)
{
	return (unsigned int)(s->tunables_end - s->tunable);
}

static void begin(struct candidate *c, const struct replay_sched *s)
{
	unsigned int i;

	memset(c, 0, sizeof(*c));
	c->sched = s;
	c->value = calloc(nr_tunables(s) + 1, sizeof(*c->value));
	if (!c->value)
		out_of_memory();
	for (i = 0; i < nr_tunables(s); i++)
		c->value[i] = s->tunable[i].def;
}

/* One "TUNABLE=VALUE"; NULL, or why not. */
static const char *take_setting(struct candidate *c, const char *setting)
{
	const size_t len = strcspn(setting, "=");
	unsigned int i;

	for (i = 0; i < nr_tunables(c->sched); i++) {
		const struct replay_tunable *t = &c->sched->tunable[i];
		const struct tunable as = {
			.name = t->name, .min = t->min, .max = t->max, .scale = t->scale
		};

		if (strlen(t->name) == len && !strncmp(t->name, setting, len))
			return tunable_value_parse(&as, setting + len + 1, &c->value[i]);
	}
	return "it has no tunable of that name";
}

static enum exit_code take_words(struct candidate *c, const char *const *word, unsigned int nr,
				 enum exit_code code)
{
	ERROR_ABOUT(NULL, c->sched->name);
	enum exit_code ret = tunable_table_check_words(code, word, nr);
	const char *wrong;
	unsigned int i;

	for (i = 0; ret == EX_OK && i < nr; i++) {
		wrong = take_setting(c, word[i]);
		if (wrong)
			ret = fail(code, "`" PROGRAM " list --verbose` has its tunables", "%s: %s",
				   word[i], wrong);
	}
	return ret;
}

static enum exit_code take_settings(struct candidate *c, char *settings, const char *between,
				    enum exit_code code)
{
	const char **word = NULL, *one;
	unsigned int nr = 0;
	enum exit_code ret;

	while ((one = strsep(&settings, between))) {
		if (!*one)
			continue;
		word = grow(word, nr, sizeof(*word));
		word[nr++] = one;
	}
	ret = take_words(c, word, nr, code);
	free(word);
	return ret;
}

enum exit_code candidate_parse(struct candidate *c, const char *words)
{
	const size_t len = strcspn(words, ":");
	const struct replay_sched *s = replay_find(words, len);
	enum exit_code ret;
	char *settings;

	memset(c, 0, sizeof(*c));
	if (!s)
		return fail_on(EX_USAGE, words, "`" PROGRAM " list` has their names",
			       "no scheduler of this name comes with this command");
	begin(c, s);
	c->words = words;
	settings = strdup(words + len + (words[len] == ':'));
	if (!settings)
		out_of_memory();
	ret = take_settings(c, settings, ":", EX_USAGE);
	free(settings);
	return ret;
}

enum exit_code candidate_as_recorded(struct candidate *c, const struct replay_sched *sched,
				     const char *settings)
{
	char *text = strdup(settings);
	enum exit_code ret;

	if (!text)
		out_of_memory();
	begin(c, sched);
	ret = take_settings(c, text, " ", EX_FAILED);
	free(text);
	return ret;
}

bool candidate_equals(const struct candidate *c, const struct candidate *d)
{
	return c->sched == d->sched &&
	       !memcmp(c->value, d->value, nr_tunables(c->sched) * sizeof(*c->value));
}

void candidate_free(struct candidate *c)
{
	free(c->value);
	free(c->state);
}

/* --- decisions */

/* Zeroed at first, as the kernel has it. */
static struct mps_priv *state_of(struct candidate *c, __u32 token)
{
	unsigned int i;

	/* the newest is the likeliest */
	for (i = c->nr_states; i--;)
		if (c->state[i].token == token)
			return &c->state[i].priv;
	c->state = grow(c->state, c->nr_states, sizeof(*c->state));
	c->state[c->nr_states] = (struct replay_state){ .token = token };
	return &c->state[c->nr_states++].priv;
}

static const struct replay_policy *policy_of(const struct candidate *c, const char *name)
{
	unsigned int i;

	for (i = 0; i < c->sched->nr_policies; i++)
		if (!strcmp(c->sched->policy[i].name, name))
			return &c->sched->policy[i];
	return &c->sched->policy[0];
}

/* What is in a snapshot only where that scheduler took it. */
static void forget_what_is_its_own(struct mps_conn *conn)
{
	unsigned int i;

	for (i = 0; i < MPS_MAX_PATHS; i++)
		conn->path[i].metric = 0;
}

static unsigned int class_of(enum observed what, __u64 answer)
{
	const __u32 reason = (__u32)answer;

	if (what == OBSERVED_COPIES)
		return answer ? REPLAY_COPY : REPLAY_NONE;
	if ((__s32)(answer >> 32) >= 0)
		return REPLAY_SEND;
	return REPLAY_FIRST_WAIT + (reason < MPS_NR_WAIT_REASONS ? reason : 0);
}

/* Bytes follow from the window, and the core hands over whole fragments: who has them counts. */
static bool is_same(const struct candidate *c, enum observed what, __u64 recorded, __u64 answer)
{
	const bool sends = class_of(what, recorded) == REPLAY_SEND;

	if (!c->words || !sends)
		return recorded == answer;
	return recorded >> 32 == answer >> 32;
}

bool candidate_decide(struct candidate *c, const struct recording_function *f,
		      const struct mps_trace_rec *rec, __u64 *answer)
{
	const struct replay_policy *policy = policy_of(c, f->policy);
	const bool own = !strcmp(f->sched, c->sched->name);
	struct mps_conn conn = rec->conn;
	struct mps_priv priv = rec->priv;
	struct mps_priv *state = own ? &priv : state_of(c, rec->head.token);
	unsigned int i;
	bool same;

	for (i = 0; i < nr_tunables(c->sched); i++)
		*c->sched->tunable[i].value = c->value[i];
	if (!own)
		forget_what_is_its_own(&conn);
	*answer = f->what == OBSERVED_COPIES ? policy->copies(&conn, state)
					     : policy->decide(&conn, state);
	same = is_same(c, f->what, rec->head.answer, *answer);
	c->decisions++;
	c->same += same;
	if (!same)
		c->instead[class_of(f->what, rec->head.answer)][class_of(f->what, *answer)]++;
	return same;
}
