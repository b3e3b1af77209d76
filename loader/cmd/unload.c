// SPDX-License-Identifier: GPL-2.0
#include "cmd/commands.h"
#include "kernel/lock.h"
#include "sched/unload.h"

enum exit_code cmd_unload(const struct args *args)
{
	ERROR_ABOUT("unload", args->all ? "--all" : args->word[0]);
	enum exit_code ret = lock_take(args->timeout);

	if (ret != EX_OK)
		return ret;
	return args->all ? unload_all(args->force) : unload_sched(args->word[0], args->force);
}
