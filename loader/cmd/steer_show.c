// SPDX-License-Identifier: GPL-2.0
/* steer: rows, and which rule a connection matches. */
#include <stdio.h>
#include "cli/steer_mode.h"
#include "cmd/steer.h"

static void output_field(output_t *item, const struct steer_field *f, const void *row,
			 const char *text)
{
	unsigned int i;

	switch (f->json) {
	case STEER_JSON_TEXT:
		output_str(item, f->key, "%s", text);
		break;
	case STEER_JSON_NUMBER:
		output_num(item, f->key, steer_number(f, row, 0));
		break;
	case STEER_JSON_TIME:
		if (steer_number(f, row, 0) == MPS_STEER_NO_DEADLINE)
			output_null(item, f->key);
		else
			output_num(item, f->key, steer_number(f, row, 0));
		break;
	case STEER_JSON_PAIR:
		for (i = 0; i < 2; i++)
			output_count(output_list(item, f->key), steer_number(f, row, i));
		break;
	case STEER_JSON_FLAG:
		output_flag(item, f->key, true);
	}
}

void output_row(output_t *item, const struct steer_kind *k, const void *row, const char *comment)
{
	char line[STEER_LINE], text[STEER_TEXT];
	const struct steer_field *f;

	for (f = k->fields; f->name; f++)
		if (f->write(row, text, sizeof(text)))
			output_field(item, f, row, text);
	steer_write(k, row, line, sizeof(line));
	output_str(item, "text", "%s", line);
	output_line("%s %s%s", k->name, line, comment);
}

void output_rule(output_t *list, const struct mps_steer_rule *r, unsigned int number)
{
	output_t *item = output_item(list);
	char comment[24];

	output_num(item, "rule", number);
	snprintf(comment, sizeof(comment), "  # %u", number);
	output_row(item, &steer_rule_kind, r, comment);
}

/* A rule before the one that matches. */
static void show_passed(output_t *item, const struct steer_compared *c, unsigned int number)
{
	output_num(item, "rule", number);
	if (*c->differs) {
		output_str(item, "differs", "%s", c->differs);
		output_line("rule %u does not match: %s", number, c->differs);
	} else {
		output_str(item, "depends", "%s", c->depends);
		output_line("rule %u depends on %s", number, c->depends);
	}
}

/* rule: which matches, or behind the last: none. sure: whatever else the connection is. */
static void show_match(const struct mps_steer_table *t, unsigned int rule, bool sure)
{
	const __u32 said = rule < t->nr_rules ? t->rule[rule].mode : MPS_STEER_AUTO;
	const __u32 mode = mps_steer_mode_at_work(t, said);
	const char *otherwise = sure ? "" : ", where none of these does";
	char line[STEER_LINE];

	if (rule < t->nr_rules) {
		output_num(output_root(), "rule", rule + 1);
		steer_write(&steer_rule_kind, &t->rule[rule], line, sizeof(line));
		output_line("rule %u matches%s: %s", rule + 1, otherwise, line);
	} else {
		output_null(output_root(), "rule");
		output_line("no rule matches%s: mode %s", otherwise, steer_mode_name(mode));
	}
	output_str(output_root(), "mode", "%s", steer_mode_name(mode));
	output_flag(output_root(), "sure", sure);
	if (mode != said)
		output_line("no path has a weight: it is as mode %s", steer_mode_name(mode));
}

void show_tested(const struct mps_steer_table *t, const struct steer_asked *asked)
{
	output_t *passed = output_list(output_root(), "passed");
	struct steer_compared c;
	bool sure = true;
	unsigned int i;

	for (i = 0; i < t->nr_rules; i++) {
		steer_compare(&c, &t->rule[i], asked);
		if (!*c.differs && !*c.depends)
			break;
		sure &= *c.differs != '\0';
		show_passed(output_item(passed), &c, i + 1);
	}
	show_match(t, i, sure);
}
