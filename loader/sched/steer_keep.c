// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include "cli/output.h"
#include "sched/steer_edit.h"
#include "sched/steer_keep.h"
#include "sched/steer_objects.h"

void steer_keep(struct steer_kept *k)
{
	struct steer_table s;

	k->tables = NULL;
	k->err = steer_table_look(&s);
	if (!k->err) {
		k->tables = s.t;
		s.t = NULL;
	}
	steer_table_close(&s);
	k->nr_options = steer_options(k->option);
}

static enum exit_code put_tables(const struct mps_steer_table *tables)
{
	struct steer_table s;
	enum exit_code ret = steer_table_open(&s);

	if (ret == EX_OK) {
		steer_replace(s.t, tables);
		ret = steer_table_put(&s);
	}
	steer_table_close(&s);
	return ret;
}

enum exit_code steer_put_back(const struct steer_kept *k)
{
	enum exit_code ret = EX_OK, one;
	unsigned int i;

	if (k->tables && (k->tables->nr_paths || k->tables->nr_rules))
		ret = put_tables(k->tables);
	for (i = 0; i < k->nr_options; i++) {
		char path[STEER_LINE];
		bool had;

		text_cgroup(k->option[i], path, sizeof(path));
		/* of one that is gone there were only pins left */
		if (*path != '/' && cgroup_is_there(k->option[i]))
			output_note("`steer option` is off for the cgroup %s, whose path cannot "
				    "be told: `" PROGRAM " steer option --cgroup PATH`",
				    path);
		one = *path == '/' ? steer_option_on(path, &had) : EX_OK;
		ret = one == EX_OK ? ret : one;
	}
	return ret;
}

void steer_kept_free(struct steer_kept *k)
{
	free(k->tables);
}
