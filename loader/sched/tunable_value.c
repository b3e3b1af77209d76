// SPDX-License-Identifier: GPL-2.0
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sched/tunable_value.h"

/* Keeps every intermediate product below 2^63. */
#define MAX_INT_DIGITS 10
#define MAX_FRAC_DIGITS 6
#define MAX_SETTING 10000 /* characters that are looked at, whatever they are worth */
#define MAX_SCALE 1000000UL

static int tag_number(const char **tag, __u32 *value)
{
	unsigned long v;
	char *end;

	if (!isdigit((unsigned char)**tag))
		return -EINVAL;
	errno = 0;
	v = strtoul(*tag, &end, 10);
	if (errno || v > 0xffffffffUL || *end != ':')
		return -EINVAL;
	*value = (__u32)v;
	*tag = end + 1;
	return 0;
}

int tunable_value_parse_tag(struct tunable *t, const char *tag)
{
	if (tag_number(&tag, &t->min) || tag_number(&tag, &t->max) || tag_number(&tag, &t->scale))
		return -EINVAL;
	if (!t->scale || t->scale > MAX_SCALE || t->min > t->max)
		return -EINVAL;
	t->text = tag;
	return 0;
}

/* Digits up to the first other character; how many, at most max + 1. */
static unsigned int digits(const char **text, unsigned long long *value, unsigned int max)
{
	unsigned int n = 0;

	for (; isdigit((unsigned char)**text) && n <= max; (*text)++, n++)
		*value = *value * 10 + (unsigned int)(**text - '0');
	return n;
}

const char *tunable_value_check_form(const char *setting)
{
	const char *text = strchr(setting, '=');
	unsigned long long ignored = 0;
	unsigned int whole, frac = 0;

	if (!text || text == setting)
		return "not NAME=VALUE";
	text++;
	whole = digits(&text, &ignored, MAX_SETTING);
	if (*text == '.') {
		text++;
		frac = digits(&text, &ignored, MAX_SETTING);
	}
	return *text || !(whole + frac) ? "its value is not a decimal number" : NULL;
}

const char *tunable_value_parse(const struct tunable *t, const char *text, __u32 *value)
{
	unsigned long long number = 0, unit = 1;
	unsigned int whole, frac = 0, i;

	whole = digits(&text, &number, MAX_INT_DIGITS);
	if (whole > MAX_INT_DIGITS)
		return "out of range";
	if (*text == '.') {
		text++;
		frac = digits(&text, &number, MAX_FRAC_DIGITS);
		if (frac > MAX_FRAC_DIGITS)
			return "more than 6 digits behind the point";
	}
	if (*text || !(whole + frac))
		return "not a decimal number";
	for (i = 0; i < frac; i++)
		unit *= 10;
	if (number / unit > t->max / t->scale)
		return "out of range";
	/* number < 2^32 * 10^6 now, but times scale only after the division above */
	if (number % unit * t->scale % unit)
		return "finer than the scheduler can keep";
	number = number / unit * t->scale + number % unit * t->scale / unit;
	if (number < t->min || number > t->max)
		return "out of range";
	*value = (__u32)number;
	return NULL;
}

void tunable_value_format(const struct tunable *t, __u32 value, char *buf, size_t size)
{
	unsigned long long rest = value % t->scale;
	size_t len;

	snprintf(buf, size, "%u", value / t->scale);
	if (!rest)
		return;
	len = strlen(buf);
	snprintf(buf + len, size - len, ".%06llu", rest * 1000000ULL / t->scale);
	for (len = strlen(buf); len && buf[len - 1] == '0'; len--)
		buf[len - 1] = '\0';
}
