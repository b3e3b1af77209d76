/* SPDX-License-Identifier: GPL-2.0 */
/* Who saves steering's accounts, on a machine whose clocks and files are those of the test. */
#include <stdbool.h>
#include <time.h>

long long monotonic, boottime;

static int its_clock(clockid_t clock, struct timespec *ts)
{
	ts->tv_sec = clock == CLOCK_MONOTONIC ? monotonic : boottime;
	return 0;
}

#define clock_gettime(clock, ts) its_clock(clock, ts)

#include "../../loader/sched/steer_saver.c"

/* Is a path missed? cap: of the second one; loaded: when the scheduler was. */
bool misses(unsigned long long cap, long long loaded)
{
	static struct mps_steer_table table;
	const struct steer_table s = { .t = &table, .loaded = loaded };

	table.nr_paths = 2;
	table.path[1].account.cap = cap;
	return steer_saver_misses(&s) == &table.path[1];
}
