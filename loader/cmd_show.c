// SPDX-License-Identifier: GPL-2.0
#include "cmd.h"

enum exit_code cmd_show(const struct args *args)
{
	return fail(EX_FAILED, "run", "show", NULL, "not built yet");
}
