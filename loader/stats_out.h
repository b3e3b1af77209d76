/* SPDX-License-Identifier: GPL-2.0 */
/* One connection as `stats` shows it, as JSON and as text. */
#ifndef MPS_STATS_OUT_H
#define MPS_STATS_OUT_H

#include "out.h"
#include "view.h"

/* item: NULL where only the text is wanted. */
void out_conn(out_t *item, const struct view *v, const struct conn_view *c, const char *netns);

#endif /* MPS_STATS_OUT_H */
