/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the targets have in common: numbers out of the fuzzer's bytes, and claims. When the bytes
 * are used up every number is 0, so that each input has an end.
 */
#ifndef MPS_TESTS_DRAW_H
#define MPS_TESTS_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The fuzzer calls it, with any bytes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold of every answer; where it does not, the input is kept. stderr may be a buffer. */
#define claim(what, text)                                                                      \
	do {                                                                                   \
		if (!(what)) {                                                                 \
			dprintf(STDERR_FILENO, "claim: %s\n%s:%d: %s does not hold\n", (text), \
				__FILE__, __LINE__, #what);                                    \
			abort();                                                               \
		}                                                                              \
	} while (0)

struct draw {
	const uint8_t *at, *end;
};

static inline bool draw_more(const struct draw *d)
{
	return d->at < d->end;
}

static inline uint8_t draw_byte(struct draw *d)
{
	return draw_more(d) ? *d->at++ : 0;
}

static inline bool draw_bit(struct draw *d)
{
	return draw_byte(d) & 1;
}

static inline uint64_t draw_word(struct draw *d, unsigned int bytes)
{
	uint64_t n = 0;

	while (bytes--)
		n = n << 8 | draw_byte(d);
	return n;
}

/* 0 to max: a small one, one close to the end, one of some magnitude, or any. */
static inline uint64_t draw_up_to(struct draw *d, uint64_t max)
{
	const uint8_t how = draw_byte(d);
	uint64_t n;

	switch (how >> 6) {
	case 0:
		n = how & 63;
		break;
	case 1:
		n = max - (how & 63);
		break;
	case 2:
		n = draw_word(d, 2) << (how & 63) >> 8;
		break;
	default:
		n = draw_word(d, how & 32 ? 8 : 4);
		break;
	}
	return max == UINT64_MAX ? n : n % (max + 1);
}

/* lo to hi, both included */
static inline uint64_t draw_between(struct draw *d, uint64_t lo, uint64_t hi)
{
	return lo + draw_up_to(d, hi - lo);
}

#endif /* MPS_TESTS_DRAW_H */
