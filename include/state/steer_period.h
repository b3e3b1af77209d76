/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Periods of steering's accounts. Pure functions of dates, as local time has them: days since
 * 1970-01-01. So hours that a summer skips or has twice mean nothing, nor does a machine that moves
 * to another time zone.
 *
 * A clock that is wrong for a time loses no bytes, and ends no period twice:
 *  - one that falls back counts for the latest period, as those that boot without a battery do;
 *  - but after a leap over at least one whole period, and back, both are one again;
 *  - and where it stays behind, its next period begins as any other.
 */
#ifndef MPS_STEER_PERIOD_H
#define MPS_STEER_PERIOD_H

#include "state/steer_account.h"

struct mps_date {
	__s32 year, month, day; /* month and day from 1 on */
};

static __always_inline bool mps_date_leaps(__s32 year)
{
	return !(year % 4) && (year % 100 || !(year % 400));
}

static __always_inline __s32 mps_date_month_days(__s32 year, __s32 month)
{
	if (month == 2)
		return mps_date_leaps(year) ? 29 : 28;
	return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

/* Days since 1970-01-01; before that: 0. */
static inline __s32 mps_date_days(struct mps_date d)
{
	__s32 year, month, days = d.day - 1;

	for (year = 1970; year < d.year; year++)
		days += 365 + mps_date_leaps(year);
	for (month = 1; month < d.month; month++)
		days += mps_date_month_days(d.year, month);
	return d.year < 1970 ? 0 : days;
}

static inline struct mps_date mps_date_of(__s32 days)
{
	struct mps_date d = { 1970, 1, 1 };

	for (; days >= 365 + mps_date_leaps(d.year); d.year++)
		days -= 365 + mps_date_leaps(d.year);
	for (; days >= mps_date_month_days(d.year, d.month); d.month++)
		days -= mps_date_month_days(d.year, d.month);
	d.day += days;
	return d;
}

/* The day on which a month's period begins: its last, where it has fewer. */
static inline __s32 mps_period_of_month(__s32 year, __s32 month, __s32 day)
{
	const __s32 last = mps_date_month_days(year, month);

	return mps_date_days((struct mps_date){ year, month, day < last ? day : last });
}

static inline __s32 mps_period_month_start(__s32 today, __s32 day)
{
	const struct mps_date d = mps_date_of(today);
	const __s32 here = mps_period_of_month(d.year, d.month, day);

	if (here <= today)
		return here;
	return d.month > 1 ? mps_period_of_month(d.year, d.month - 1, day)
			   : mps_period_of_month(d.year - 1, 12, day);
}

/* The first day of the period that has this one, or 0. 1970-01-01 was a Thursday. */
static inline __s32 mps_period_start(__s32 today, __u32 period, __s32 day)
{
	if (period == MPS_STEER_DAY)
		return today;
	if (period == MPS_STEER_WEEK)
		return today < 4 ? 0 : today - (today + 3) % 7;
	return period == MPS_STEER_MONTH ? mps_period_month_start(today, day) : 0;
}

/* Of the period behind the one that begins there. */
static inline __s32 mps_period_next(__s32 start, __u32 period, __s32 day)
{
	struct mps_date d = mps_date_of(start);

	if (period != MPS_STEER_MONTH)
		return start + (period == MPS_STEER_WEEK ? 7 : 1);
	d.year += d.month == 12;
	d.month = d.month % 12 + 1;
	return mps_period_of_month(d.year, d.month, day);
}

/* The bytes of the period are of the one before, and a new one begins. */
static inline void mps_period_begin(struct mps_steer_account *a, const struct mps_steer_slot *s,
				    __s32 start)
{
	__u32 way;

	for (way = 0; way < MPS_NR_STEER_WAYS; way++) {
		a->before[way] = mps_account_bytes(a, s, way);
		a->base[way] = s->bytes[way];
	}
	a->before_start = a->start;
	a->start = start;
}

/* The period before goes on, with what was counted since. */
static inline void mps_period_take_back(struct mps_steer_account *a)
{
	__u32 way;

	for (way = 0; way < MPS_NR_STEER_WAYS; way++) {
		a->base[way] -= a->before[way];
		a->before[way] = 0;
	}
	a->start = a->before_start;
	a->before_start = 0;
}

/* today, by the clock. Is anything else than before? */
static inline bool mps_period_look(struct mps_steer_account *a, const struct mps_steer_slot *s,
				   __s32 today)
{
	const __s32 now = mps_period_start(today, a->period, a->day);
	const __s32 seen = a->seen, start = a->start;

	a->seen = now;
	if (!start)
		a->start = now;
	else if (now > start)
		mps_period_begin(a, s, now);
	else if (now < start && now && a->before_start == now &&
		 mps_period_next(now, a->period, a->day) < start)
		mps_period_take_back(a);
	else if (now < start && seen && mps_period_next(seen, a->period, a->day) == now)
		mps_period_begin(a, s, now);
	return a->start != start || a->seen != seen;
}

#endif /* MPS_STEER_PERIOD_H */
