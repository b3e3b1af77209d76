// SPDX-License-Identifier: GPL-2.0
/*
 * A file of steering's rules and paths (loader/sched/steer_edit.c). Claims: what is taken is within
 * the limits and, as it is printed, read as the same tables; what is refused has one reason.
 */
#include "said.h"
#include "sched/steer_edit.h"
#include "sched/steer_fields.h"

static struct memory file, again;
static struct mps_steer_table table, other;

static size_t add_row(char *buf, size_t size, const struct steer_kind *k, const void *row)
{
	char line[STEER_LINE];

	steer_write(k, row, line, sizeof(line));
	claim(strlen(line) + 1 < sizeof(line), "a row has room");
	return (size_t)snprintf(buf, size, "%s %s\n", k->name, line);
}

static void read_again(bool json)
{
	static char text[1 << 20];
	enum exit_code ret;
	unsigned int i;
	size_t at = 0;

	text[0] = '\0';
	for (i = 0; i < table.nr_paths; i++)
		at += add_row(text + at, sizeof(text) - at, &steer_path_kind, &table.path[i]);
	for (i = 0; i < table.nr_rules; i++)
		at += add_row(text + at, sizeof(text) - at, &steer_rule_kind, &table.rule[i]);
	memory_set(&again, text, at);
	said_begin(json);
	ret = steer_from_file(&other, again.path);
	said_end(ret);
	claim(ret == EX_OK, "what is printed is right, too");
	claim(!memcmp(&table, &other, sizeof(table)), "and the same");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const bool json = size && *data & 1;
	enum exit_code ret;
	unsigned int i;

	memset(&table, 0, sizeof(table));
	memset(&other, 0, sizeof(other));
	memory_set(&file, data, size);
	said_begin(json);
	ret = steer_from_file(&table, file.path);
	said_end(ret);
	claim(ret == EX_OK || ret == EX_FAILED, "the words of a file are no usage");
	if (ret != EX_OK)
		return 0;
	claim(table.nr_rules <= MPS_STEER_RULES && table.nr_paths <= MPS_STEER_PATHS, "limits");
	for (i = 0; i < table.nr_rules; i++)
		claim(table.rule[i].mode < MPS_NR_STEER_MODES, "a mode that there is");
	read_again(json);
	return 0;
}
