/* SPDX-License-Identifier: GPL-2.0 */
/* Another program's answer. */
#ifndef MPS_SUBPROCESS_H
#define MPS_SUBPROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* In PATH or where Debian keeps the tools of root; into buf. */
bool find_tool(const char *name, char *buf, size_t size);

struct subprocess {
	char *out;	/* what it printed, NUL added; the caller's to free */
	char said[200]; /* the last line of its errors, "" where it had none */
	int status;	/* its exit status, 128 + N where signal N ended it */
};

/*
 * 0 when it has ended by itself; -ETIME, -EFBIG: it was ended after so long, or when it had printed
 * more than limit bytes, with all that it had begun; or a negative errno.
 */
int subprocess_run(struct subprocess *c, const char *path, char *const argv[],
		   unsigned int timeout_ms, size_t limit);

/* The same, of a program that reads this file. */
int subprocess_feed(struct subprocess *c, const char *path, char *const argv[], int in,
		    unsigned int timeout_ms, size_t limit);

#endif /* MPS_SUBPROCESS_H */
