// SPDX-License-Identifier: GPL-2.0
#include "cmd.h"

enum exit_code cmd_doctor(const struct args *args)
{
	return fail(EX_FAILED, "run", "doctor", NULL, "not built yet");
}
