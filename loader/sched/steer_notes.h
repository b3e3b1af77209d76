/* SPDX-License-Identifier: GPL-2.0 */
/* Notes about tables: what is allowed and may not be meant, each with what will happen. */
#ifndef MPS_STEER_NOTES_H
#define MPS_STEER_NOTES_H

#include "sched/steer_table.h"

/* Of a table that has been changed, or would be, and of what is in place now. */
void steer_warn(const struct mps_steer_table *t, const struct steer_table *s);

/* Cgroups and namespaces of rules that are gone. comment: as a line that `replace` leaves out. */
void steer_warn_gone(const struct mps_steer_table *t, bool comment);

#endif /* MPS_STEER_NOTES_H */
