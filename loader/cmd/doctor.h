/* SPDX-License-Identifier: GPL-2.0 */
/* The rows of `doctor`'s table. */
#ifndef MPS_DOCTOR_H
#define MPS_DOCTOR_H

#include "kernel/kern.h"

enum grade { GRADE_OK, GRADE_WARN, GRADE_FAIL };

/* One row; only what is not ok has something to do. */
void doctor_row(enum grade grade, const char *what, const char *todo, const char *found, ...)
	__attribute__((format(printf, 4, 5)));

/* What can be told only by trying it; all of it is undone. */
void doctor_try_kernel(struct kern *k, double timeout);
void doctor_try_pins(void);

/*
 * What somebody left: loads that were ended in their midst, namespaces without their scheduler,
 * caps whose period nobody ends.
 */
void doctor_look_for_remains(void);

#endif /* MPS_DOCTOR_H */
