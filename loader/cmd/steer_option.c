// SPDX-License-Identifier: GPL-2.0
/* steer option: whose processes may name a mode for a socket. */
#include "cmd/steer.h"
#include "sched/steer_objects.h"
#include "sched/steer_option.h"

static void show_all(void)
{
	output_t *list = output_list(output_root(), "cgroups");
	__u64 id[STEER_OPTIONS_MAX];
	unsigned int nr = steer_options(id), i;
	char text[STEER_TEXT];

	for (i = 0; i < nr; i++) {
		text_cgroup(id[i], text, sizeof(text));
		output_word(list, text);
		output_line("%s", text);
	}
}

/* A socket says which tables it was classified by, so there have to be some. */
static enum exit_code turn_on(struct steer_table *s, const char *cgroup, bool *had)
{
	enum exit_code ret = s->t->generation ? EX_OK : steer_table_put(s);

	return ret == EX_OK ? steer_option_on(cgroup, had) : ret;
}

enum exit_code steer_option(struct steer_table *s, const char *cgroup, bool off)
{
	bool had = false;
	enum exit_code ret;

	if (!cgroup) {
		show_all();
		return EX_OK;
	}
	ret = off ? steer_option_off(cgroup, &had) : turn_on(s, cgroup, &had);
	if (ret != EX_OK)
		return ret;
	output_str(output_root(), "cgroup", "%s", cgroup);
	output_flag(output_root(), "option", !off);
	output_line("%s: its processes %s", cgroup,
		    off ? "cannot name a mode any more" : "may name a mode for a socket");
	if (had != off)
		output_note("%s", off ? "they could not before" : "they could before");
	return EX_OK;
}
