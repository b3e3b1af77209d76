// SPDX-License-Identifier: GPL-2.0
/* Steering with plain arguments, for test_steer.py and test_shares.py. */
#include "common/fragment.h"
#include "policy/match.h"
#include "policy/shares.h"
#include "policy/steer.h"
#include "policy/steer_budget.h"
#include "policy/thin.h"
#include "state/steer_option.h"
#include "state/steer_period.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT __u32 filter(struct mps_conn *c, struct mps_priv *priv, const __u32 option[5])
{
	const struct mps_steer_options o = {
		.mode = option[0],
		.deadline_us = option[1],
		.head = option[2],
		.waits = option[3],
		.copy = option[4],
	};

	return mps_steer_filter(c, priv, &o);
}

static void tell(struct mps_verdict v, __s32 answer[3])
{
	answer[0] = v.path;
	answer[1] = v.path < 0 ? (__s32)v.reason : 0;
	answer[2] = (__s32)v.bytes;
}

EXPORT void ranks(const struct mps_conn *c, __s32 answer[3])
{
	tell(mps_steer_ranks_pick(c), answer);
}

EXPORT void delay(const struct mps_conn *c, struct mps_priv *priv, __s32 answer[3])
{
	tell(mps_steer_delay_pick(c, priv), answer);
}

EXPORT void shares(const struct mps_conn *c, struct mps_priv *priv, __s32 answer[3])
{
	tell(mps_shares_pick(c, (void *)priv, &mps_steer_state(priv)->begun), answer);
}

/* As the frame takes it. */
EXPORT void shares_with_rest(const struct mps_conn *c, struct mps_priv *priv, __s32 answer[3])
{
	const struct mps_verdict v =
		mps_shares_pick(c, (void *)priv, &mps_steer_state(priv)->begun);

	tell(mps_with_rest(c, v, mps_steer_tail(MPS_STEER_BALANCE)), answer);
}

EXPORT __u32 noted(const struct mps_priv *priv)
{
	return priv->notes;
}

/* Does a burst on path 0 end, with a probe due on path 1 of that metric? */
EXPORT __u32 probes(struct mps_conn *c, __u32 metric)
{
	c->path[1].flags |= MPS_PATH_DUE | MPS_PATH_IDLE;
	c->path[1].metric = metric;
	mps_steer_spare_probe(&c->path[1]);
	return mps_thin_ends_burst(c, 0, c->pending, 2);
}

EXPORT __u64 done_us(const struct mps_conn *c, __u32 limit)
{
	return mps_steer_done_us(c, limit);
}

/* The path's flags, with all of these bits of its metric said of it. */
EXPORT __u32 capped(struct mps_conn *c, __u32 over)
{
	mps_steer_cap(&c->path[0], over);
	return c->path[0].flags;
}

EXPORT __u64 account_bytes(const struct mps_steer_account *a, const struct mps_steer_slot *s,
			   __u32 way)
{
	return mps_account_bytes(a, s, way);
}

EXPORT __u32 account_is_over(const struct mps_steer_account *a, const struct mps_steer_slot *s,
			     __u32 queued)
{
	return mps_account_is_over(a, s, queued);
}

EXPORT __s32 days_of(__s32 year, __s32 month, __s32 day)
{
	return mps_date_days((struct mps_date){ year, month, day });
}

EXPORT void date_of(__s32 days, __s32 date[3])
{
	const struct mps_date d = mps_date_of(days);

	date[0] = d.year;
	date[1] = d.month;
	date[2] = d.day;
}

EXPORT __s32 period_start(__s32 today, __u32 period, __s32 day)
{
	return mps_period_start(today, period, day);
}

EXPORT __s32 period_next(__s32 start, __u32 period, __s32 day)
{
	return mps_period_next(start, period, day);
}

EXPORT __u32 period_look(struct mps_steer_account *a, const struct mps_steer_slot *s, __s32 today)
{
	return mps_period_look(a, s, today);
}

EXPORT __u32 over_rtt(__u32 rtt_us, __u32 srtt_us, __u32 was)
{
	const struct mps_steer_path row = { .rtt_us = rtt_us };

	return mps_match_over_rtt(&row, srtt_us, was);
}

/* What an option of that value asks for, as it is padded. */
EXPORT __u32 wish_of(const char name[MPS_STEER_OPTION_LEN])
{
#define MODE_NAME(id, name, policy, what) { .text = name },
	static const struct mps_steer_mode_name names[] = { MPS_STEER_MODES(MODE_NAME) };

	return mps_steer_wish_of(names, (const void *)name);
}

/* One look: TCP's totals and the time. state: 6 numbers, the last one whether it is over. */
EXPORT __u32 loss_look(__u32 state[6], const __u32 look[3], __u32 most)
{
	struct mps_steer_loss *l = (struct mps_steer_loss *)state;

	mps_loss_look(l, look[0], look[1], look[2]);
	state[5] = mps_loss_is_over(l, most, state[5]);
	return state[5];
}

/* What a pass copies, by counters of paths: bytes sent and copied, for each. */
EXPORT __u32 budget_copies(const struct mps_conn *c, struct mps_priv *priv, __u32 percent,
			   const __u64 (*counted)[2], __u32 paths)
{
	struct mps_subflow_store s = {};
	__u32 i;

	mps_budget_begin(priv, MPS_STEER_REDUNDANT, percent);
	for (i = 0; i < paths; i++) {
		s.counter[MPS_S_SENT] = counted[i][0];
		s.counter[MPS_S_COPIED] = counted[i][1];
		mps_budget_see(priv, i, &s);
	}
	return mps_budget_copies(c, priv);
}

/* The same, of new data: is a pass asked for behind this many bytes on path 0? */
EXPORT __u32 budget_ends(const struct mps_conn *c, const struct mps_priv *priv, __u32 bytes)
{
	const struct mps_verdict v = { .path = 0, .bytes = bytes };

	return mps_budget_ends(c, &v, (const void *)priv);
}

EXPORT __u32 budget_of(struct mps_priv *priv, __u32 mode, __u32 percent)
{
	mps_steer_begin(priv, mode, 1, 1);
	mps_budget_begin(priv, mode, percent);
	return mps_steer_state(priv)->budget;
}

EXPORT void begin(struct mps_priv *priv, __u32 mode, __u32 rule, __u32 generation)
{
	mps_steer_begin(priv, mode, rule, generation);
}

/* The row that a subflow has after these two looks, or -1 where it is looked up again. */
EXPORT __s32 kept(__u32 found, const __u32 backup[2], const __u32 current[2])
{
	struct mps_subflow_store s = {};

	mps_match_keep(&s, found, backup[0], current[0]);
	return mps_match_is_kept(&s, backup[1], current[1]) ? s.row : -1;
}

EXPORT __u32 queue_cap(__u32 mode)
{
	return mps_steer_queue_cap(mode);
}

EXPORT __u32 is_retried(__u32 idle, __u32 rto)
{
	return mps_match_is_retried(idle, rto);
}

EXPORT __u32 rank_of(__u32 row, __u32 rank, __u32 flags, __u32 backup)
{
	const struct mps_steer_path p = { .rank = (__u8)rank, .flags = (__u8)flags };

	return mps_match_rank(row ? &p : NULL, backup);
}
