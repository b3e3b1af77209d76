// SPDX-License-Identifier: GPL-2.0
#include "cli/output.h"
#include "cmd/commands.h"
#include "kernel/lock.h"
#include "kernel/pin.h"
#include "kernel/registry.h"
#include "sched/load.h"
#include "sched/tunable_table.h"

enum exit_code cmd_load(const struct args *args)
{
	ERROR_ABOUT("load", args->word[0]);
	const struct settings settings = { args->set, args->nr_set };
	char name[MPS_NAME_LEN], path[128];
	enum exit_code ret = tunable_table_check_words(EX_USAGE, args->set, args->nr_set);

	if (ret == EX_OK)
		ret = lock_take(args->timeout);
	if (ret == EX_OK)
		ret = load_sched(args->word[0], &settings, name);
	if (ret != EX_OK)
		return ret;
	pin_path(name, path, sizeof(path));
	output_str(output_root(), "loaded", "%s", name);
	output_str(output_root(), "pin", "%s", path);
	output_line("%s is registered and pinned at %s", name, path);
	output_line("`" PROGRAM " use %s` selects it in a network namespace", name);
	return EX_OK;
}
