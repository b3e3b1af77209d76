// SPDX-License-Identifier: GPL-2.0
#include "cli/output.h"
#include "cmd/commands.h"
#include "kernel/lock.h"
#include "sched/apply.h"

static void tell(const struct apply *a, enum exit_code ret)
{
	output_str(output_root(), "config", "%s", a->config.path);
	output_flag(output_root(), "dry_run", a->dry_run);
	output_num(output_root(), "done", a->nr_done);
	if (!a->nr && ret == EX_OK)
		output_line("nothing to do: all is as %s says", a->config.path);
	else if (!a->dry_run)
		output_line("%u of %u changes done", a->nr_done, a->nr);
}

enum exit_code cmd_apply(const struct args *args)
{
	struct apply a = { .dry_run = args->dry_run };
	const char *path = args->config ? args->config : CONFIG_FILE;
	ERROR_ABOUT("apply", path);
	enum exit_code ret = config_read(&a.config, path);

	if (ret == EX_OK && !args->dry_run)
		ret = lock_take(args->timeout);
	if (ret == EX_OK)
		ret = apply_check(&a);
	if (ret == EX_OK) {
		ret = apply_all(&a);
		tell(&a, ret);
	}
	apply_free(&a);
	return ret;
}
