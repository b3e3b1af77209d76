// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <sys/capability.h>
#include "caps.h"

static const struct {
	cap_value_t value;
	const char *name, *text;
} caps[NR_CAPS] = {
#define CAP_ENTRY(id, text) { CAP_##id, "CAP_" #id, text },
	CAPS(CAP_ENTRY)
#undef CAP_ENTRY
};

static bool has(cap_t state, unsigned int i)
{
	cap_flag_value_t set = CAP_CLEAR;

	return !cap_get_flag(state, caps[i].value, CAP_EFFECTIVE, &set) && set == CAP_SET;
}

void caps_print(unsigned int which)
{
	unsigned int i;

	for (i = 0; i < NR_CAPS; i++)
		if (which & (1U << i))
			printf("  %-17s %s\n", caps[i].name, caps[i].text);
}

unsigned int caps_missing(unsigned int wanted, char *names, size_t size)
{
	cap_t state = cap_get_proc();
	unsigned int i, missing = 0;
	size_t at = 0;

	*names = '\0';
	for (i = 0; i < NR_CAPS; i++) {
		if (!(wanted & (1U << i)) || (state && has(state, i)))
			continue;
		if (at < size)
			at += (size_t)snprintf(names + at, size - at, "%s%s", missing ? ", " : "",
					       caps[i].name);
		missing++;
	}
	cap_free(state);
	return missing;
}

static void drop_all_but(unsigned int wanted)
{
	cap_t now = cap_get_proc(), kept = cap_init();
	unsigned int i;

	for (i = 0; now && kept && i < NR_CAPS; i++) {
		if (!(wanted & (1U << i)) || !has(now, i))
			continue;
		cap_set_flag(kept, CAP_PERMITTED, 1, &caps[i].value, CAP_SET);
		cap_set_flag(kept, CAP_EFFECTIVE, 1, &caps[i].value, CAP_SET);
	}
	/* a refusal leaves more privilege than needed, which harms no command */
	if (now && kept)
		cap_set_proc(kept);
	cap_free(now);
	cap_free(kept);
}

enum exit_code caps_confine(const char *command, unsigned int wanted)
{
	char names[200];

	if (caps_missing(wanted & CAPS_ESSENTIAL, names, sizeof(names)))
		return fail(EX_PERMISSION, "run", command, "run it as root", "it needs %s", names);
	drop_all_but(wanted);
	return EX_OK;
}
