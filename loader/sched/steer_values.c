// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sched/steer_values.h"

#define MAPPED_BITS 96

bool value_wrong(struct steer_why *why, const char *fmt, ...)
{
	va_list args;

	why->code = EX_USAGE;
	why->hint = NULL;
	va_start(args, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, args);
	va_end(args);
	return false;
}

bool value_absent(struct steer_why *why, enum exit_code code, const char *hint, const char *fmt,
		  ...)
{
	va_list args;

	why->code = code;
	why->hint = hint;
	va_start(args, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, args);
	va_end(args);
	return false;
}

bool value_is_word(const char *value, size_t size, const char *without)
{
	const char *at;

	for (at = value; *at > ' ' && *at < 0x7f; at++)
		;
	return *value && !*at && strlen(value) < size && !strpbrk(value, without);
}

bool value_number(__u64 *number, const char *text, __u64 min, __u64 max, struct steer_why *why)
{
	const bool hex = !strncmp(text, "0x", 2);
	const char *digits = text + (hex ? 2 : 0);
	const size_t len = strlen(digits);

	errno = 0;
	*number = strtoull(digits, NULL, hex ? 16 : 10);
	if (len && strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789") == len && !errno &&
	    *number >= min && *number <= max)
		return true;
	return value_wrong(why, "not a number from %llu to %llu: %s", (unsigned long long)min,
			   (unsigned long long)max, text);
}

bool value_word(__u32 *number, const char *text, struct steer_why *why)
{
	__u64 wide = 0;
	const bool good = value_number(&wide, text, 0, ~0U, why);

	*number = (__u32)wide;
	return good;
}

void text_word(__u32 number, char *buf, size_t size)
{
	snprintf(buf, size, "%u", number);
}

/* As many leading bits as that, in network order. */
static void mask_of(__u64 *mask, unsigned int bits)
{
	unsigned char *byte = (unsigned char *)mask;
	unsigned int i;

	for (i = 0; i < 16; i++) {
		unsigned int here = bits > 8 * i ? bits - 8 * i : 0;

		byte[i] = here >= 8 ? 0xff : (unsigned char)(0xff00 >> here);
	}
}

bool value_prefix(__u64 *addr, __u64 *mask, const char *text, struct steer_why *why)
{
	const char *slash = strchr(text, '/');
	unsigned char byte[16] = { 0 };
	/* more than the longest address, so what is cut off was none */
	char host[64];
	unsigned int all = 128;
	__u64 length;

	snprintf(host, sizeof(host), "%.*s", slash && slash - text < 63 ? (int)(slash - text) : 63,
		 text);
	if (inet_pton(AF_INET, host, byte + 12) == 1) {
		byte[10] = byte[11] = 0xff;
		all = 32;
	} else if (inet_pton(AF_INET6, host, byte) != 1) {
		return value_wrong(why, "not an address or a prefix: %s", text);
	}
	length = all;
	if (slash && !value_number(&length, slash + 1, 0, all, why))
		return value_wrong(why, "the length of a prefix is 0 to %u: %s", all, text);
	mask_of(mask, (unsigned int)length + (all == 32 ? MAPPED_BITS : 0));
	memcpy(addr, byte, sizeof(byte));
	if ((addr[0] & ~mask[0]) | (addr[1] & ~mask[1]))
		return value_wrong(why, "there is more in the address than its first %llu bits: %s",
				   (unsigned long long)length, text);
	return true;
}

bool value_address(__u64 *addr, const char *text, struct steer_why *why)
{
	__u64 mask[2];

	if (strchr(text, '/'))
		return value_wrong(why, "a connection has one address, and no prefix: %s", text);
	return value_prefix(addr, mask, text, why);
}

void text_prefix(const __u64 *addr, const __u64 *mask, char *buf, size_t size)
{
	const unsigned char *byte = (const unsigned char *)addr;
	const unsigned int bits =
		(unsigned int)(__builtin_popcountll(mask[0]) + __builtin_popcountll(mask[1]));
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	const bool v4 = bits >= MAPPED_BITS && !memcmp(byte, mapped, sizeof(mapped));
	const unsigned int all = v4 ? 32 : 128, length = bits - (v4 ? MAPPED_BITS : 0);
	char host[INET6_ADDRSTRLEN];

	inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? byte + 12 : byte, host, sizeof(host));
	if (length == all)
		snprintf(buf, size, "%s", host);
	else
		snprintf(buf, size, "%s/%u", host, length);
}

bool value_ports(__u16 *range, const char *text, struct steer_why *why)
{
	const char *dash = strchr(text, '-');
	char first[32];
	__u64 from, to;

	snprintf(first, sizeof(first), "%.*s", dash ? (int)(dash - text) : 31, text);
	if ((dash && dash - text > 31) || !value_number(&from, first, 0, 65535, why) ||
	    !value_number(&to, dash ? dash + 1 : text, 0, 65535, why))
		return value_wrong(why, "not a port or FROM-TO, from 0 to 65535: %s", text);
	if (from > to)
		return value_wrong(why, "the first port is greater than the last: %s", text);
	range[0] = (__u16)from;
	range[1] = (__u16)to;
	return true;
}

bool value_port(__u16 *port, const char *text, struct steer_why *why)
{
	__u64 number;

	if (!value_number(&number, text, 0, 65535, why))
		return value_wrong(why, "a connection has one port, from 0 to 65535: %s", text);
	*port = (__u16)number;
	return true;
}

void text_ports(const __u16 *range, char *buf, size_t size)
{
	if (range[0] == range[1])
		snprintf(buf, size, "%u", range[0]);
	else
		snprintf(buf, size, "%u-%u", range[0], range[1]);
}

/* IANA's registry of code points */
static const struct {
	const char *name;
	__u32 value;
} dscps[] = {
	{ "cs0", 0 },	{ "cs1", 8 },	{ "cs2", 16 },	{ "cs3", 24 },	{ "cs4", 32 },
	{ "cs5", 40 },	{ "cs6", 48 },	{ "cs7", 56 },	{ "af11", 10 }, { "af12", 12 },
	{ "af13", 14 }, { "af21", 18 }, { "af22", 20 }, { "af23", 22 }, { "af31", 26 },
	{ "af32", 28 }, { "af33", 30 }, { "af41", 34 }, { "af42", 36 }, { "af43", 38 },
	{ "ef", 46 },	{ "le", 1 },	{ "va", 44 },
};

#define NR_DSCPS (sizeof(dscps) / sizeof(dscps[0]))

bool value_dscp(__u32 *dscp, const char *text, struct steer_why *why)
{
	__u64 number;
	unsigned int i;

	for (i = 0; i < NR_DSCPS; i++) {
		if (!strcasecmp(dscps[i].name, text)) {
			*dscp = dscps[i].value;
			return true;
		}
	}
	if (!value_number(&number, text, 0, 63, why))
		return value_wrong(
			why, "neither a name like ef, af41 or cs1 nor a number from 0 to 63: %s",
			text);
	*dscp = (__u32)number;
	return true;
}

void text_dscp(__u32 dscp, char *buf, size_t size)
{
	unsigned int i;

	snprintf(buf, size, "%u", dscp);
	for (i = 0; i < NR_DSCPS; i++)
		if (dscps[i].value == dscp)
			snprintf(buf, size, "%s", dscps[i].name);
}

struct unit {
	const char *name;
	__u64 of;
};

/* A number and one of the units, together from min to max. */
static bool value_in_units(__u64 *value, const char *text, const struct unit *units,
			   unsigned int nr, __u64 min, __u64 max, struct steer_why *why)
{
	const size_t len = strspn(text, "0123456789");
	char digits[64];
	__u64 number;
	unsigned int i;

	snprintf(digits, sizeof(digits), "%.*s", (int)len, text);
	for (i = 0; i < nr && len < sizeof(digits); i++) {
		if (strcmp(units[i].name, text + len) ||
		    !value_number(&number, digits, 0, max / units[i].of, why) ||
		    number * units[i].of < min)
			continue;
		*value = number * units[i].of;
		return true;
	}
	return false;
}

/* By the largest unit that leaves no rest; the last one is 1. */
static void text_in_units(__u64 value, const struct unit *units, char *buf, size_t size)
{
	for (; value % units->of; units++)
		;
	snprintf(buf, size, "%llu%s", (unsigned long long)(value / units->of), units->name);
}

static const struct unit times[] = { { "s", 1000000 }, { "ms", 1000 }, { "us", 1 } };

bool value_time(__u32 *us, const char *text, __u32 min, __u32 max, struct steer_why *why)
{
	__u64 value;

	if (!value_in_units(&value, text, times, sizeof(times) / sizeof(times[0]), min, max, why))
		return value_wrong(why, "not a time like 200ms, %sup to %u s: %s",
				   min ? "more than 0 and " : "", max / 1000000, text);
	*us = (__u32)value;
	return true;
}

void text_time(__u32 us, char *buf, size_t size)
{
	text_in_units(us, times, buf, size);
}

bool value_percent(__u8 *percent, const char *text, __u8 min, __u8 max, struct steer_why *why)
{
	static const struct unit sign[] = { { "%", 1 } };
	__u64 value;

	if (!value_in_units(&value, text, sign, 1, min, max, why))
		return value_wrong(why, "not a percentage from %u%% to %u%%: %s", min, max, text);
	*percent = (__u8)value;
	return true;
}

void text_percent(__u8 percent, char *buf, size_t size)
{
	snprintf(buf, size, "%u%%", percent);
}

static const struct unit amounts[] = {
	{ "T", 1000000000000 }, { "G", 1000000000 }, { "M", 1000000 }, { "K", 1000 }, { "", 1 },
};

#define MAX_AMOUNT 1000000000000000000U

bool value_amount(__u64 *bytes, const char *text, struct steer_why *why)
{
	const unsigned int nr = sizeof(amounts) / sizeof(amounts[0]);

	return value_in_units(bytes, text, amounts, nr, 1, MAX_AMOUNT, why) ||
	       value_wrong(why,
			   "not an amount like 500M or 10G, more than 0 and up to 1000000T: %s",
			   text);
}

void text_amount(__u64 bytes, char *buf, size_t size)
{
	text_in_units(bytes, amounts, buf, size);
}

void text_about(__u64 bytes, char *buf, size_t size)
{
	unsigned int i;

	for (i = 0; bytes < amounts[i].of && amounts[i].of > 1; i++)
		;
	if (amounts[i].of == 1)
		snprintf(buf, size, "%llu", (unsigned long long)bytes);
	else
		snprintf(buf, size, "%.2f%s", (double)bytes / (double)amounts[i].of,
			 amounts[i].name);
}

bool value_uid(__u32 *uid, const char *text, struct steer_why *why)
{
	const struct passwd *user = getpwnam(text);
	__u64 number = user ? user->pw_uid : 0;

	/* the last one means none */
	if (!user && !value_number(&number, text, 0, ~0U - 1, why))
		return value_absent(why, EX_FAILED, "give a name of passwd(5) or a number",
				    "no such user: %s", text);
	*uid = (__u32)number;
	return true;
}
