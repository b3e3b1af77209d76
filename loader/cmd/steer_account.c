// SPDX-License-Identifier: GPL-2.0
/* steer: bytes of paths against their caps. */
#include <stdio.h>
#include "cmd/steer.h"
#include "sched/steer_account.h"
#include "sched/steer_values.h"

static const struct output_col account_cols[] = {
	{ "name", "PATH", OUTPUT_LEFT },
	{ "sent", "SENT", OUTPUT_RIGHT },
	{ "received", "RECEIVED", OUTPUT_RIGHT },
	{ "since", "SINCE", OUTPUT_LEFT },
	{ "cap", "CAP", OUTPUT_RIGHT },
	{ "over_cap", "OVER CAP", OUTPUT_LEFT },
	{ 0 },
};

static void output_bytes(output_t *item, const struct steer_table *s,
			 const struct mps_steer_path *p)
{
	char since[40];

	output_num(item, "sent", steer_account_bytes(s, p, MPS_STEER_SENT));
	output_num(item, "received", steer_account_bytes(s, p, MPS_STEER_RECEIVED));
	steer_account_since(p, since, sizeof(since));
	if (*since)
		output_str(item, "since", "%s", since);
	else
		output_null(item, "since");
	if (p->account.cap)
		output_flag(item, "over_cap", steer_account_is_over(s, p));
}

void output_account(output_t *item, const struct steer_table *s, const struct mps_steer_path *p,
		    char *comment, size_t size)
{
	char bytes[40], cap[40], since[40];

	output_bytes(output_obj(item, "account"), s, p);
	*comment = '\0';
	if (!p->account.cap)
		return;
	text_about(steer_account_total(s, p), bytes, sizeof(bytes));
	text_amount(p->account.cap, cap, sizeof(cap));
	steer_account_since(p, since, sizeof(since));
	snprintf(comment, size, "  # %s of %s%s%s%s", bytes, cap, *since ? " since " : "", since,
		 steer_account_is_over(s, p) ? ", over cap" : "");
}

void show_accounts(const struct steer_table *s)
{
	output_t *list = output_list(output_root(), "accounts");
	unsigned int i;

	for (i = 0; i < s->t->nr_paths; i++) {
		const struct mps_steer_path *p = &s->t->path[i];
		output_t *item = output_item(list);

		output_str(item, "name", "%s", p->name);
		if (p->account.cap)
			output_num(item, "cap", p->account.cap);
		output_bytes(item, s, p);
	}
	output_table(list, account_cols, "");
}
