/* SPDX-License-Identifier: GPL-2.0 */
/* Another program's answer. */
#ifndef MPS_CHILD_H
#define MPS_CHILD_H

#include <stdbool.h>
#include <stddef.h>

/* In PATH or where Debian keeps the tools of root; into buf. */
bool find_tool(const char *name, char *buf, size_t size);

struct child {
	char *out;	/* what it printed, NUL added; the caller's to free */
	char said[200]; /* the last line of its errors, "" where it had none */
	int status;	/* its exit status, 128 + N where signal N ended it */
};

/* 0 when it has ended by itself; -ETIME: it was ended after so long; or a negative errno. */
int child_run(struct child *c, const char *path, char *const argv[], unsigned int timeout_ms);

#endif /* MPS_CHILD_H */
