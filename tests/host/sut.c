// SPDX-License-Identifier: GPL-2.0
/* The headers under test, behind plain functions. Mutants replace this object. */
#include <stdio.h>

#include "host.h"
#include "policy/ecf.h"
#include "common/retrans.h"
#include "state/stats.h"

void sut_answer(const struct host_case *q, struct host_answer *a)
{
	struct mps_ecf_state st = { .waiting = q->waiting };
	struct mps_verdict v;

	switch (q->op) {
	case HOST_MINRTT:
		v = mps_minrtt_pick(&q->conn);
		break;
	case HOST_ECF:
		v = mps_ecf_paper_pick(&q->conn, &st, q->beta);
		break;
	case HOST_RETRANS:
		v = (struct mps_verdict){ .path = mps_default_retrans(&q->conn) };
		break;
	default:
		v = mps_window_closed(&q->conn);
		break;
	}
	*a = (struct host_answer){ v.path, v.reason, v.bytes, st.waiting };
}

void sut_mul(__u64 a, __u64 b, __u64 *hi, __u64 *lo)
{
	const struct mps_u128 r = mps_mul(a, b);

	*hi = r.hi;
	*lo = r.lo;
}

int sut_product_less(__u64 a, __u64 b, __u64 c, __u64 d)
{
	return mps_product_less(a, b, c, d);
}

void sut_print_sizes(void)
{
	printf("mps_path %zu\n", sizeof(struct mps_path));
	printf("mps_conn %zu\n", sizeof(struct mps_conn));
	printf("mps_ecf_state %zu\n", sizeof(struct mps_ecf_state));
	printf("mps_conn_store %zu\n", sizeof(struct mps_conn_store));
	printf("mps_conn_store.priv %zu\n", sizeof(((struct mps_conn_store *)0)->priv));
	printf("mps_subflow_store %zu\n", sizeof(struct mps_subflow_store));
	printf("host_case %zu\n", sizeof(struct host_case));
	printf("host_answer %zu\n", sizeof(struct host_answer));
}
