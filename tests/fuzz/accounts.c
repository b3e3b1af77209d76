// SPDX-License-Identifier: GPL-2.0
/*
 * The file of steering's accounts (loader/sched/steer_state.c). Claims: what is taken is within the
 * limits and, as it is written, read as the same accounts; a line that is refused is one of the
 * file's; one that is set is the first, and no name is there twice.
 */
#include <errno.h>
#include "draw.h"
#include "sched/steer_state.h"

static struct steer_state state, other;

static void look_at(const struct steer_saved *s)
{
	const struct mps_steer_account *a = &s->account;
	unsigned int way;

	claim(*s->name && memchr(s->name, '\0', sizeof(s->name)), "a name");
	claim(steer_state_find(&state, s->name) == s, "that no other one has");
	claim(a->period < MPS_NR_STEER_PERIODS && a->day >= 1 && a->day <= 31, "a period");
	claim(a->start >= 0 && a->before_start >= 0 && a->seen >= 0, "dates");
	for (way = 0; way < MPS_NR_STEER_WAYS; way++)
		claim((__s64)(a->base[way] + a->before[way]) >= 0, "bytes that can be summed");
}

static void read_again(void)
{
	char *text = steer_state_text(&state);

	claim(text, "it is written");
	claim(!steer_state_parse(&other, text), "and read");
	claim(other.nr == state.nr, "with as many");
	claim(!memcmp(other.row, state.row, state.nr * sizeof(state.row[0])), "the same ones");
	free(text);
}

/* One that is there, or a new one. */
static void set_one(bool known)
{
	struct steer_saved row = { .name = "new", .account.day = 1 };
	const unsigned int nr = state.nr;

	if (known && nr)
		row = state.row[nr - 1];
	known = steer_state_find(&state, row.name);
	row.account.base[0] = 77;
	steer_state_set(&state, &row);
	claim(!memcmp(&state.row[0], &row, sizeof(row)), "it is the first");
	claim(state.nr == nr + (!known && nr < STEER_STATE_MAX),
	      "in its own place, or as one more");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	unsigned int i, lines = 1;
	int ret;

	for (i = 0; text[i]; i++)
		lines += text[i] == '\n';
	ret = steer_state_parse(&state, text);
	free(text);
	claim(ret == -EPROTO || ret == -ENODATA || (ret >= 0 && (unsigned int)ret <= lines),
	      "right, or why not");
	if (ret)
		return 0;
	claim(state.nr <= STEER_STATE_MAX, "limits");
	for (i = 0; i < state.nr; i++)
		look_at(&state.row[i]);
	read_again();
	set_one(size & 1);
	for (i = 0; i < state.nr; i++)
		look_at(&state.row[i]);
	read_again();
	return 0;
}
