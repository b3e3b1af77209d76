// SPDX-License-Identifier: GPL-2.0
/*
 * Decisions with a state: struct question on stdin, struct answer on stdout,
 * one for one. tests/host/stateful.py packs and unpacks them.
 */
#include <stdio.h>
#include <string.h>

#include "policy/blest.h"
#include "policy/cfs.h"
#include "policy/daps.h"
#include "policy/rr.h"
#include "state/stats.h"

enum { OP_BLEST, OP_DAPS, OP_RR, OP_CFS };

struct question {
	__u32 op;
	/* BLEST: struct mps_blest_options; DAPS: patient; round robin: segments; CFS: the factor */
	__u32 option[7];
	struct mps_priv priv;
	struct mps_conn conn;
};

struct answer {
	__s32 path;
	__u32 reason;
	__u32 bytes;
	__u32 unused;
	struct mps_priv priv;
};

static struct mps_verdict ask(const struct question *q, struct mps_priv *priv)
{
	const struct mps_blest_options o = {
		.start = q->option[0],
		.min = q->option[1],
		.max = q->option[2],
		.step = q->option[3],
		.whole = q->option[4],
		.rate = q->option[5],
	};

	switch (q->op) {
	case OP_BLEST:
		return mps_blest_pick(&q->conn, (void *)priv, &o);
	case OP_DAPS:
		return mps_daps_pick(&q->conn, (void *)priv, q->option[0]);
	case OP_CFS:
		return mps_cfs_pick(&q->conn, (void *)priv, q->option[0]);
	default:
		return mps_rr_pick(&q->conn, (void *)priv, q->option[0]);
	}
}

int main(void)
{
	struct question q;
	struct answer a;

	while (fread(&q, sizeof(q), 1, stdin) == 1) {
		const struct question before = q;
		struct mps_verdict v;

		memset(&a, 0, sizeof(a));
		a.priv = q.priv;
		v = ask(&q, &a.priv);
		a.path = v.path;
		a.reason = v.reason;
		a.bytes = v.bytes;
		if (memcmp(&before, &q, sizeof(q)))
			return 3;
		/* whoever asks may need the answer for the next question */
		if (fwrite(&a, sizeof(a), 1, stdout) != 1 || fflush(stdout))
			return 4;
	}
	return 0;
}
