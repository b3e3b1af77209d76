// SPDX-License-Identifier: GPL-2.0
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include "cli/output.h"
#include "sched/steer_fields.h"
#include "sched/steer_notes.h"
#include "sched/steer_objects.h"
#include "sched/steer_saver.h"

#define OF_TWO_FAMILIES "local and remote are of IPv4 and IPv6, and no connection has both"

/* Both ends of a subflow are of IPv4, or both of IPv6. */
static void warn_families(const struct mps_steer_table *t)
{
	unsigned int i;

	for (i = 0; i < t->nr_rules; i++)
		if (steer_ends_differ(&t->rule[i].ends))
			output_note("rule %u never matches: " OF_TWO_FAMILIES, i + 1);
	for (i = 0; i < t->nr_paths; i++)
		if (steer_ends_differ(&t->path[i].ends))
			output_note("path %s never matches: " OF_TWO_FAMILIES, t->path[i].name);
}

static void warn_covered(const struct mps_steer_table *t)
{
	unsigned int i, j;

	for (i = 1; i < t->nr_rules; i++) {
		for (j = 0; j < i && !steer_covers_rule(&t->rule[j], &t->rule[i]); j++)
			;
		if (j < i)
			output_note("rule %u never matches: rule %u has all that it would match",
				    i + 1, j + 1);
	}
	for (i = 1; i < t->nr_paths; i++) {
		for (j = 0; j < i && !steer_covers_path(&t->path[j], &t->path[i]); j++)
			;
		if (j < i)
			output_note("path %s never matches: path %s has all that it would match",
				    t->path[i].name, t->path[j].name);
	}
}

static bool has_mode(const struct mps_steer_table *t, enum mps_steer_mode mode)
{
	unsigned int i = 0;

	while (i < t->nr_rules && t->rule[i].mode != mode)
		i++;
	return i < t->nr_rules;
}

static void warn_weights(const struct mps_steer_table *t)
{
	unsigned int i, sum = 0;

	for (i = 0; i < t->nr_paths; i++)
		sum += t->path[i].weight ?: 1;
	if (t->weighted && !has_mode(t, MPS_STEER_BALANCE))
		output_note("the weights do nothing yet: that takes a rule, such as "
			    "`steer rule add mode load-balancing`");
	if (t->weighted && sum != 100)
		output_note("the weights make %u in all, not 100: with all paths in use each gets "
			    "its weight's part of %u",
			    sum, sum);
}

/* if_nametoindex() takes other names of a device, too, and rows are compared with its first one. */
static void warn_device(const char *name, const char *path)
{
	const unsigned int index = if_nametoindex(name);
	char first[IF_NAMESIZE] = "";

	if (!index)
		output_note("there is no device %s in this network namespace: path %s matches "
			    "where one of that name is",
			    name, path);
	else if (if_indextoname(index, first) && strcmp(first, name))
		output_note("%s is another name of device %s: path %s matches where the name "
			    "itself is %s",
			    name, first, path, name);
}

static void warn_devices(const struct mps_steer_table *t)
{
	char name[MPS_STEER_DEVICE + 1] = "";
	unsigned int i;

	for (i = 0; i < t->nr_paths; i++) {
		if (!t->path[i].device[0])
			continue;
		memcpy(name, t->path[i].device, MPS_STEER_DEVICE);
		warn_device(name, t->path[i].name);
	}
}

static bool goes_by_ranks(const struct mps_steer_rule *rule)
{
	return rule->mode == MPS_STEER_STANDBY || rule->mode == MPS_STEER_PRIORITY;
}

/* One without the other does nothing. */
static void warn_ranks(const struct mps_steer_table *t)
{
	unsigned int path = 0, rule = 0;

	while (path < t->nr_paths && !t->path[path].rank &&
	       !(t->path[path].flags & MPS_STEER_METERED))
		path++;
	while (rule < t->nr_rules && !goes_by_ranks(&t->rule[rule]))
		rule++;
	if (path == t->nr_paths && rule < t->nr_rules)
		output_note("rule %u goes by ranks, and no path has one but 0: backups apart, it "
			    "uses all of them",
			    rule + 1);
	if (path < t->nr_paths && !t->nr_rules)
		output_note("path %s does not stand back yet: that takes a rule, such as "
			    "`steer rule add mode active-standby`",
			    t->path[path].name);
}

static void note_gone(bool comment, const char *what, const char *text, unsigned int rule)
{
	char note[STEER_LINE];

	snprintf(note, sizeof(note), "%s %s of rule %u is gone: one that is made anew is another",
		 what, text, rule);
	if (!comment) {
		output_note("%s", note);
		return;
	}
	output_word(output_list(output_root(), "notes"), note);
	output_line("# note: %s", note);
}

void steer_warn_gone(const struct mps_steer_table *t, bool comment)
{
	char text[STEER_TEXT];
	unsigned int i;

	for (i = 0; i < t->nr_rules; i++) {
		const struct mps_steer_rule *r = &t->rule[i];

		if (r->cgroup && !cgroup_is_there(r->cgroup)) {
			text_cgroup(r->cgroup, text, sizeof(text));
			note_gone(comment, "cgroup", text, i + 1);
		}
		if (r->mask[MPS_STEER_NETNS] && !netns_is_there(r->word[MPS_STEER_NETNS])) {
			text_netns(r->word[MPS_STEER_NETNS], text, sizeof(text));
			note_gone(comment, "network namespace", text, i + 1);
		}
	}
}

static void warn_unsaved(const struct steer_table *s)
{
	const struct mps_steer_path *p = steer_saver_misses(s);

	if (p)
		output_note("nobody saves the accounts each minute, so the period of path %s does "
			    "not end: " HINT_SAVER,
			    p->name);
}

void steer_warn(const struct mps_steer_table *t, const struct steer_table *s)
{
	warn_families(t);
	warn_covered(t);
	warn_weights(t);
	warn_devices(t);
	warn_ranks(t);
	steer_warn_gone(t, false);
	warn_unsaved(s);
}
