/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel's log says while something is tried: for those who would be sent to `dmesg`. */
#ifndef MPS_KLOG_H
#define MPS_KLOG_H

#include <stddef.h>

struct klog {
	int fd; /* a negative errno where it may not be read */
};

/* From here on; takes CAP_SYSLOG where kernel.dmesg_restrict is set. */
void klog_begin(struct klog *k);

/*
 * Its last word about this module since then, errors before other lines: "" where it said
 * nothing. 0, or a negative errno where it cannot be known. Ends the reading.
 */
int klog_end(struct klog *k, const char *module, char *line, size_t size);

#endif /* MPS_KLOG_H */
