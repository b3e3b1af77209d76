/* SPDX-License-Identifier: GPL-2.0 */
/* Values of steering's fields, from text and to text. */
#ifndef MPS_STEER_VALUES_H
#define MPS_STEER_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/* Each: false with why, of STEER_WHY bytes, where the text is none. */

/* ADDRESS or ADDRESS/LENGTH, as one of IPv6: state/steer.h. Bits behind the length must be 0. */
bool value_prefix(__u64 *addr, __u64 *mask, const char *text, char *why);
bool value_ports(__u16 *range, const char *text, char *why);
bool value_number(__u64 *number, const char *text, __u64 max, char *why);
bool value_dscp(__u32 *dscp, const char *text, char *why);
/* NUMBER with us, ms or s behind it, at most that many us. */
bool value_time(__u32 *us, const char *text, __u32 max, char *why);
bool value_uid(__u32 *uid, const char *text, char *why);
/* A path below /sys/fs/cgroup: its id, and those of its ancestors by level; *level of the last. */
bool value_cgroup(__u64 *ids, unsigned int *level, const char *text, char *why);
bool value_netns(__u32 *inode, const char *text, char *why);

void text_prefix(const __u64 *addr, const __u64 *mask, char *buf, size_t size);
void text_ports(const __u16 *range, char *buf, size_t size);
void text_dscp(__u32 dscp, char *buf, size_t size);
void text_time(__u32 us, char *buf, size_t size);
void text_cgroup(__u64 id, char *buf, size_t size);
void text_netns(__u32 inode, char *buf, size_t size);

#endif /* MPS_STEER_VALUES_H */
