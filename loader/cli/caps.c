// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include "cli/caps.h"

static const struct {
	cap_value_t value;
	const char *name, *when, *text;
} needs_table[NR_CAP_NEEDS] = {
#define CAP_ENTRY(id, cap, when, text) { CAP_##cap, "CAP_" #cap, when, text },
	CAP_NEEDS(CAP_ENTRY)
#undef CAP_ENTRY
};

static bool has(cap_t state, unsigned int i)
{
	cap_flag_value_t set = CAP_CLEAR;

	return !cap_get_flag(state, needs_table[i].value, CAP_EFFECTIVE, &set) && set == CAP_SET;
}

void caps_print(unsigned int needs)
{
	unsigned int i;

	for (i = 0; i < NR_CAP_NEEDS; i++)
		if (needs & (1U << i))
			printf("  %-17s %s%s%s\n", needs_table[i].name, needs_table[i].when,
			       *needs_table[i].when ? ": " : "", needs_table[i].text);
}

void caps_out(output_t *list, unsigned int needs)
{
	unsigned int i;

	for (i = 0; i < NR_CAP_NEEDS; i++) {
		output_t *item = needs & (1U << i) ? output_item(list) : NULL;

		if (!item)
			continue;
		output_str(item, "name", "%s", needs_table[i].name);
		if (*needs_table[i].when)
			output_str(item, "when", "%s", needs_table[i].when);
		else
			output_null(item, "when");
		output_str(item, "text", "%s", needs_table[i].text);
	}
}

/* Several needs may take the same capability, which is named once. */
static bool named_before(unsigned int needs, unsigned int i)
{
	unsigned int j;

	for (j = 0; j < i; j++)
		if (needs & (1U << j) && needs_table[j].value == needs_table[i].value)
			return true;
	return false;
}

unsigned int caps_missing(unsigned int needs, char *names, size_t size)
{
	cap_t state = cap_get_proc();
	unsigned int i, missing = 0;
	size_t at = 0;

	*names = '\0';
	for (i = 0; i < NR_CAP_NEEDS; i++) {
		if (!(needs & (1U << i)) || named_before(needs, i) || (state && has(state, i)))
			continue;
		if (at < size)
			at += (size_t)snprintf(names + at, size - at, "%s%s", missing ? ", " : "",
					       needs_table[i].name);
		missing++;
	}
	cap_free(state);
	return missing;
}

unsigned int caps_always(unsigned int needs)
{
	unsigned int i, always = 0;

	for (i = 0; i < NR_CAP_NEEDS; i++)
		if (needs & (1U << i) && !*needs_table[i].when)
			always |= 1U << i;
	return always;
}

const char *caps_hint(int err, enum cap_need need)
{
	static char hint[200];
	char name[32];

	if ((err != EPERM && err != EACCES) || !caps_missing(1U << need, name, sizeof(name)))
		return NULL;
	snprintf(hint, sizeof(hint), "it takes %s %s%s: run it as root", name,
		 *needs_table[need].when ? "" : "to ",
		 *needs_table[need].when ? needs_table[need].when : needs_table[need].text);
	return hint;
}

static void drop_all_but(unsigned int needs)
{
	cap_t now = cap_get_proc(), kept = cap_init();
	unsigned int i;

	for (i = 0; now && kept && i < NR_CAP_NEEDS; i++) {
		if (!(needs & (1U << i)) || !has(now, i))
			continue;
		cap_set_flag(kept, CAP_PERMITTED, 1, &needs_table[i].value, CAP_SET);
		cap_set_flag(kept, CAP_EFFECTIVE, 1, &needs_table[i].value, CAP_SET);
	}
	/* a refusal leaves more privilege than needed, which harms no command */
	if (now && kept)
		cap_set_proc(kept);
	cap_free(now);
	cap_free(kept);
}

enum exit_code caps_confine(const char *command, unsigned int needs)
{
	ERROR_ABOUT("run", command);
	char names[200];

	if (caps_missing(caps_always(needs), names, sizeof(names)))
		return fail(EX_PERMISSION, "run it as root", "it needs %s", names);
	drop_all_but(needs);
	return EX_OK;
}

/* Root's programs have their capabilities anyhow; others only what is inheritable and ambient. */
void caps_lend(enum cap_need need, bool lend)
{
	cap_value_t value = needs_table[need].value;
	cap_t state = cap_get_proc();

	if (state && has(state, need)) {
		cap_set_flag(state, CAP_INHERITABLE, 1, &value, lend ? CAP_SET : CAP_CLEAR);
		if (!cap_set_proc(state) && lend)
			prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, value, 0, 0);
	}
	cap_free(state);
}
