// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include "cli/util.h"
#include "exporter/known.h"

/*
 * The walk of a map that changes meanwhile can miss a socket. One that comes back after so many
 * readings at most goes on where it was, instead of being counted from 0 once more.
 */
#define MAX_ABSENT 3

static int order(const struct known *a, const struct known *b)
{
	if (a->sk != b->sk)
		return a->sk < b->sk ? -1 : 1;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->token < b->token ? -1 : a->token > b->token;
}

int known_order(const void *a, const void *b)
{
	return order(a, b);
}

void known_join(struct known **known, unsigned int *nr, struct known *now, unsigned int nr_now)
{
	struct known *all = calloc(*nr + nr_now + 1, sizeof(*all)), *old = *known;
	unsigned int i = 0, j = 0, n = 0;

	if (!all)
		out_of_memory();
	while (i < *nr || j < nr_now) {
		const int diff = i == *nr ? 1 : j == nr_now ? -1 : order(&old[i], &now[j]);

		if (diff < 0) {
			if (old[i].absent++ < MAX_ABSENT)
				all[n++] = old[i];
			else
				old[i].series->refs--;
			i++;
		} else {
			all[n] = now[j++];
			if (!diff) {
				all[n] = old[i++];
				all[n].absent = 0;
			}
			n++;
		}
	}
	free(old);
	*known = all;
	*nr = n;
}

__u64 known_token(const struct known *known, unsigned int nr, __u64 sk)
{
	unsigned int low = 0, high = nr;

	while (low < high) {
		const unsigned int mid = low + (high - low) / 2;

		if (known[mid].sk < sk)
			low = mid + 1;
		else
			high = mid;
	}
	/* the latest of those with this address, where there was another */
	while (low + 1 < nr && known[low].absent && known[low + 1].sk == sk)
		low++;
	return low < nr && known[low].sk == sk ? known[low].id : 0;
}

unsigned int *known_index(const struct known *now, unsigned int nr)
{
	unsigned int *index = calloc(nr + 1, sizeof(*index)), i;

	if (!index)
		out_of_memory();
	for (i = 0; i < nr; i++)
		index[i] = now[i].path;
	return index;
}
