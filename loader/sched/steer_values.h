/* SPDX-License-Identifier: GPL-2.0 */
/* Values of steering's fields, from text and to text: those that are the same on every machine. */
#ifndef MPS_STEER_VALUES_H
#define MPS_STEER_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include "cli/error.h"

/* Why a value is none. code: EX_USAGE where the text itself is wrong; hint: or NULL. */
struct steer_why {
	enum exit_code code;
	const char *hint;
	char text[200];
};

/* Both false. The second: there is nothing of that name here. */
bool value_wrong(struct steer_why *why, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool value_absent(struct steer_why *why, enum exit_code code, const char *hint, const char *fmt,
		  ...) __attribute__((format(printf, 4, 5)));

/* Each of these: false with why where the text is none. */

/* ADDRESS or ADDRESS/LENGTH, as one of IPv6: state/steer.h. Bits behind the length must be 0. */
bool value_prefix(__u64 *addr, __u64 *mask, const char *text, struct steer_why *why);
bool value_address(__u64 *addr, const char *text, struct steer_why *why);
bool value_ports(__u16 *range, const char *text, struct steer_why *why);
bool value_port(__u16 *port, const char *text, struct steer_why *why);
bool value_number(__u64 *number, const char *text, __u64 min, __u64 max, struct steer_why *why);
bool value_word(__u32 *number, const char *text, struct steer_why *why);
bool value_dscp(__u32 *dscp, const char *text, struct steer_why *why);
/* NUMBER with us, ms or s behind it, from min to max us. */
bool value_time(__u32 *us, const char *text, __u32 min, __u32 max, struct steer_why *why);
/* NUMBER of bytes with K, M, G or T behind it, powers of 1000; more than 0. */
bool value_amount(__u64 *bytes, const char *text, struct steer_why *why);
/* NUMBER%, from min to max. */
bool value_percent(__u8 *percent, const char *text, __u8 min, __u8 max, struct steer_why *why);
bool value_uid(__u32 *uid, const char *text, struct steer_why *why);

/* Is it of 1 to size - 1 visible characters of ASCII, none of them one of those? */
bool value_is_word(const char *value, size_t size, const char *without);

void text_prefix(const __u64 *addr, const __u64 *mask, char *buf, size_t size);
void text_ports(const __u16 *range, char *buf, size_t size);
void text_word(__u32 number, char *buf, size_t size);
void text_dscp(__u32 dscp, char *buf, size_t size);
void text_time(__u32 us, char *buf, size_t size);
void text_percent(__u8 percent, char *buf, size_t size);
void text_amount(__u64 bytes, char *buf, size_t size);
/* With three digits or so, for people. */
void text_about(__u64 bytes, char *buf, size_t size);

#endif /* MPS_STEER_VALUES_H */
