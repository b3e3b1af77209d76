/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Steering's accounts: which row has which, by its name, through every change of the tables; those
 * of rows that are gone are in the file (sched/steer_state.h).
 */
#ifndef MPS_STEER_ACCOUNTS_H
#define MPS_STEER_ACCOUNTS_H

#include "sched/steer_table.h"

/* Rows that are new in s->t get their account; those of rows that go are saved. */
enum exit_code steer_accounts_carry(struct steer_table *s);

/* Periods that are over by this machine's clock end. Does any row of s->t change? */
bool steer_accounts_look(struct steer_table *s);

/* Those of s->t, to the file. */
enum exit_code steer_accounts_save(const struct steer_table *s);
/* The same of what is loaded, if it is. Where that cannot be done a note says what is lost. */
void steer_accounts_save_loaded(void);

/* In s->t that path's begins anew, or, NULL, those of all. */
enum exit_code steer_accounts_reset(struct steer_table *s, const char *name);

/* Bytes of a row's period, one way: enum mps_steer_way. */
__u64 steer_account_bytes(const struct steer_table *s, const struct mps_steer_path *p,
			  unsigned int way);
/* The same, both ways together, as caps count. */
__u64 steer_account_total(const struct steer_table *s, const struct mps_steer_path *p);
bool steer_account_is_over(const struct steer_table *s, const struct mps_steer_path *p);
/* The day on which its period began, as YYYY-MM-DD, or "". */
void steer_account_since(const struct mps_steer_path *p, char *buf, size_t size);

#endif /* MPS_STEER_ACCOUNTS_H */
