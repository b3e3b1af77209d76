// SPDX-License-Identifier: GPL-2.0
#include "cmd.h"

enum exit_code cmd_stats(const struct args *args)
{
	return fail(EX_FAILED, "run", "stats", NULL, "not built yet");
}
