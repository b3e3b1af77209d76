// SPDX-License-Identifier: GPL-2.0
/*
 * Which data a subflow was given (state/ranges.h), against a list without a limit. Claims: who was
 * given unacknowledged data of a range is never told that it was not, its age is right within a
 * tick for as long as ticks count, 16 ranges are enough, and while all of them are exact nothing is
 * claimed that it was not given, nor is what it was given behind too little.
 */
#include "draw.h"
#include "state/ranges.h"

#define MOST 64
#define TICK 8192U
#define SOON (1000U * TICK) /* as long as ticks tell ages apart, 8 s */

struct given {
	uint64_t start, end, us;
};

static struct given list[MOST];
static unsigned int nr;
static uint64_t una, head, now;

/* Beyond the low half, so that it wraps. */
static uint32_t low(uint64_t n)
{
	return (uint32_t)(n + 0xffff0000U);
}

static bool overlaps(const struct given *g, uint64_t start, uint64_t end)
{
	return g->start < end && start < g->end;
}

/* The youngest of those that are not acknowledged and lie in the range. */
static const struct given *youngest(uint64_t start, uint64_t end)
{
	unsigned int i;

	for (i = nr; i--;)
		if (list[i].end > una && overlaps(&list[i], start > una ? start : una, end))
			return &list[i];
	return NULL;
}

static uint64_t given_behind(uint64_t end, const struct given *last)
{
	uint64_t bytes = last->end > end ? last->end - end : 0;
	const struct given *g;

	for (g = last + 1; g < list + nr; g++)
		bytes += g->end > una ? g->end - (g->start > una ? g->start : una) : 0;
	return bytes;
}

static void question(struct draw *d, const struct mps_ranges *g, bool exact)
{
	const uint64_t start = una + draw_up_to(d, head - una);
	const uint64_t end = start + draw_up_to(d, 1 << 16);
	const struct given *last = youngest(start, end);
	const uint32_t age = mps_ranges_age(g, low(start), low(end), low(now));
	const uint32_t behind = mps_ranges_behind(g, low(start), low(end));

	if (start >= end) {
		claim(age == MPS_NEVER, "an empty range has no carrier");
		return;
	}
	if (!last) {
		claim(!exact || age == MPS_NEVER, "who was not given it does not have it");
		return;
	}
	claim(age != MPS_NEVER, "who was given it has it");
	if (now - last->us < SOON)
		claim(age <= now - last->us + TICK, "it is no older than it is");
	claim(!exact || behind >= given_behind(end, last), "no less is behind it than was given");
}

static void give(struct draw *d, struct mps_ranges *g, bool *exact)
{
	const uint8_t how = draw_byte(d);
	uint64_t start = how & 1 ? head + draw_up_to(d, 1 << 20) : una + draw_up_to(d, head - una);
	uint64_t end = start + draw_up_to(d, how & 2 ? 1 << 24 : 1 << 16);

	start = how & 4 && nr ? list[nr - 1].end : start;
	end = end < start ? start + 1 : end;
	/* what is acknowledged may go from a range, which counts 1 GB at most */
	if (end - una > (1ULL << 30) - 4096 || nr == MOST)
		return;
	mps_ranges_add(g, low(start), low(end), low(una), low(now));
	claim(g->nr <= MPS_RANGES, "ranges have a limit");
	if (start == end)
		return;
	list[nr++] = (struct given){ start, end, now };
	head = end > head ? end : head;
	/* longer ones, of several perhaps, count in KB */
	*exact &= nr <= MPS_RANGES && head < 1 << 20;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct draw d = { data, data + size };
	struct mps_ranges g = { 0 };
	bool exact = true;

	nr = 0;
	una = head = now = 0;
	while (draw_more(&d)) {
		switch (draw_byte(&d) & 3) {
		case 0:
			una += draw_up_to(&d, head - una);
			mps_ranges_forget(&g, low(una));
			break;
		case 1:
			now += draw_up_to(&d, 1 << 22);
			break;
		case 2:
			question(&d, &g, exact);
			break;
		default:
			give(&d, &g, &exact);
			break;
		}
	}
	return 0;
}
