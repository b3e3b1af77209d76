/* SPDX-License-Identifier: GPL-2.0 */
/* The names of steering's modes (state/steer.h) and periods (state/steer_account.h). */
#ifndef MPS_STEER_MODE_H
#define MPS_STEER_MODE_H

/* mode: enum mps_steer_mode; "?": there is no such mode. */
const char *steer_mode_name(unsigned int mode);
/* period: enum mps_steer_period; "-": for good, "?": there is no such period. */
const char *steer_period_name(unsigned int period);

#endif /* MPS_STEER_MODE_H */
