/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How much a subflow's share of the send buffer should be. TCP makes it as large as its
 * own window needs (tcp_sndbuf_expand(), net/ipv4/tcp_input.c). But data that was sent
 * on a slow subflow holds back the acknowledgement of all that came after it, for a
 * round trip of the slow one, and another where a segment is lost. So that no subflow
 * stands still until then the buffer must take what all of them carry in that time:
 * 2 * sum(BW_i) * RTT_max (RFC 6182, section 5.3). Of that the share of one is
 *
 *   2 * cwnd_i * mss_i * RTT_max / RTT_i
 */
#ifndef MPS_SNDBUF_H
#define MPS_SNDBUF_H

#include "model/estimate.h"

/* Beyond what any tcp_wmem allows. */
#define MPS_SNDBUF_MAX (1U << 30)

/* RTT_max, in us: of the paths that are in use; 0: none is known. */
MPS_FN __u32 mps_longest_rtt(const struct mps_conn *c MPS_ARG, __u32 tier)
{
	__u32 i, rtt = 0;

	for (i = 0; i < MPS_MAX_PATHS; i++) {
		const struct mps_path *p = &c->path[i];

		if (i >= c->nr_paths)
			break;
		if (mps_is_usable(p, tier) && p->srtt_us > rtt)
			rtt = p->srtt_us;
	}
	return rtt;
}

/*
 * Bytes; 0: as large as TCP makes it, which is enough where the peer's window would not take
 * more than what is in the buffer now. buffered: that, of what is to be assigned; a policy may have
 * added to c->pending what the writer still has (mps_ecf_look_ahead()).
 */
static __always_inline __u32 mps_sndbuf_share(const struct mps_conn *c, __u32 i, __u64 buffered)
{
	const struct mps_path *p = &c->path[i & (MPS_MAX_PATHS - 1)];
	const __s32 tier = mps_usable_tier(c);
	__u64 window, rtt;

	if (tier < 0 || !p->srtt_us || buffered >= c->wnd_left)
		return 0;
	window = mps_min(mps_bytes(p->cwnd, p), MPS_SNDBUF_MAX);
	rtt = mps_min(mps_longest_rtt(c, (__u32)tier), MPS_RTT_MAX);
	return (__u32)mps_min(2 * window * rtt / p->srtt_us, MPS_SNDBUF_MAX);
}

#endif /* MPS_SNDBUF_H */
