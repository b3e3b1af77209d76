/* SPDX-License-Identifier: GPL-2.0 */
/* loader/cli/error.c as a library: what a failure says, by where it happens. */
#define _GNU_SOURCE
#include "../../loader/cli/error.c"
#include "../../loader/cli/json_print.c"
#include "../../loader/cli/text.c"

libbpf_print_fn_t libbpf_set_print(libbpf_print_fn_t fn)
{
	return NULL;
}

void out_of_memory(void)
{
	abort();
}

static enum exit_code part(const char *object, bool early)
{
	ERROR_ABOUT(NULL, object);

	if (early)
		return fail(EX_FAILED, NULL, "early");
	return fail(EX_KERNEL, "a hint", "%s", "late");
}

static enum exit_code another_operation(void)
{
	ERROR_ABOUT("unload", "x");

	part("part of x", false);
	return fail_on(EX_FAILED, "other", NULL, "on another object");
}

static void in_a_block(void)
{
	{
		ERROR_ABOUT("set", NULL);

		fail(EX_USAGE, NULL, "no object");
	}
	fail(EX_FAILED, NULL, "behind the block");
}

/* Returns what the last one returns. */
enum exit_code fail_everywhere(bool json)
{
	error_setup(json, 0);
	fail(EX_FAILED, NULL, "nobody has told");
	ERROR_ABOUT("load", "a");
	fail(EX_FAILED, NULL, "itself");
	part("b", true);
	part("c", false);
	another_operation();
	in_a_block();
	return fail(EX_PERMISSION, NULL, "in the end");
}
