/* SPDX-License-Identifier: GPL-2.0 */
/* Rows of steering's tables as text, without the rest of the command, for test_steer_rows.py. */
#include "../../loader/sched/steer_values.c"
#include "../../loader/sched/steer_rows.c"
#include "../../loader/sched/steer_fields.c"

#define read_local path_read_local
#define read_remote path_read_remote
#define write_local path_write_local
#define write_remote path_write_remote
#include "../../loader/sched/steer_paths.c"

static char said[2000];

enum exit_code fail(enum exit_code code, const char *hint, const char *why, ...)
{
	va_list args;

	va_start(args, why);
	vsnprintf(said, sizeof(said), why, args);
	va_end(args);
	return code;
}

void netns_names(struct netns_list *l)
{
}

struct netns *netns_find(const struct netns_list *l, ino_t ino)
{
	return NULL;
}

void netns_free(struct netns_list *l)
{
}

static union row {
	struct mps_steer_rule rule;
	struct mps_steer_path path;
} rows[2];

/* Reads a line into row `at`; "" and its text in buf, or why not. */
const char *row(unsigned int at, bool path, const char *line, char *buf, size_t size)
{
	const struct steer_kind *k = path ? &steer_path_kind : &steer_rule_kind;
	const char *word[64];
	char copy[4096], *save = NULL, *next;
	unsigned int nr = 0;

	snprintf(copy, sizeof(copy), "%s", line);
	for (next = strtok_r(copy, " ", &save); next && nr < 64; next = strtok_r(NULL, " ", &save))
		word[nr++] = next;
	*buf = said[0] = '\0';
	if (steer_read(k, EX_USAGE, &rows[at], word, nr) == EX_OK)
		steer_write(k, &rows[at], STEER_ALL, buf, size);
	return said;
}

bool covers(bool path)
{
	return path ? steer_covers_path(&rows[0].path, &rows[1].path)
		    : steer_covers_rule(&rows[0].rule, &rows[1].rule);
}

/* Row 0 against the connection of row 1: "" where it matches, else the fields that differ. */
const char *differs(void)
{
	static char buf[STEER_LINE];
	struct mps_steer_key key;

	steer_key_of(&key, &rows[1].rule);
	steer_differs(&rows[0].rule, &key, buf, sizeof(buf));
	return mps_match_rule(&rows[0].rule, &key) == !*buf ? buf : "the two do not agree";
}
