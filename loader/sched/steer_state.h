/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Steering's accounts in a file: what has to outlive the scheduler and the machine's runs. It has a
 * line for each path that ever had an account; it takes the place of the one before as a whole.
 */
#ifndef MPS_STEER_STATE_H
#define MPS_STEER_STATE_H

#include <stddef.h>
#include "state/steer.h"

#ifndef STEER_STATE_DIR
#define STEER_STATE_DIR "/var/lib/mptcp-sched"
#endif
#define STEER_STATE_FILE STEER_STATE_DIR "/accounts"
/* The oldest ones are left out beyond that. */
#define STEER_STATE_MAX 256

/* base has the bytes of the period, as if the slot had none. */
struct steer_saved {
	char name[MPS_STEER_NAME];
	struct mps_steer_account account;
};

struct steer_state {
	unsigned int nr;
	struct steer_saved row[STEER_STATE_MAX];
};

/* NULL: there is none of that name. */
const struct steer_saved *steer_state_find(const struct steer_state *st, const char *name);
/* In the place of the one of that name, as the first. */
void steer_state_set(struct steer_state *st, const struct steer_saved *row);

/*
 * From what is in a file, which is changed: 0, or the number of the first line that is none;
 * -EPROTO: it is of another version, -ENODATA: it is cut off.
 */
int steer_state_parse(struct steer_state *st, char *text);
/* Into malloc()ed memory; NULL: there is none. */
char *steer_state_text(const struct steer_state *st);

/* As steer_state_parse(), or a negative errno. No file: no accounts. */
int steer_state_read(struct steer_state *st);
/* 0 or a negative errno; then the file is as it was. */
int steer_state_write(const struct steer_state *st);

#endif /* MPS_STEER_STATE_H */
