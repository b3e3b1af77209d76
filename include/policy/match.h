/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which rule a connection matches, and which row of the paths' table a subflow: the first that
 * agrees in all that it names. Without branches but one, as a table may have a thousand rules.
 */
#ifndef MPS_MATCH_H
#define MPS_MATCH_H

#include "state/steer.h"

/* Bits in which the ends differ from the prefixes; 0: none. */
static __always_inline __u64 mps_match_ends(const struct mps_steer_prefixes *m, const __u64 *local,
					    const __u64 *remote)
{
	return ((local[0] ^ m->local[0]) & m->local_mask[0]) |
	       ((local[1] ^ m->local[1]) & m->local_mask[1]) |
	       ((remote[0] ^ m->remote[0]) & m->remote_mask[0]) |
	       ((remote[1] ^ m->remote[1]) & m->remote_mask[1]);
}

static __always_inline __u32 mps_match_port(const __u16 *range, __u16 port)
{
	return (port < range[0]) | (port > range[1]);
}

static __always_inline bool mps_match_rule(const struct mps_steer_rule *r,
					   const struct mps_steer_key *k)
{
	const __u64 cgroup = k->cgroup[r->cgroup_level & (MPS_STEER_LEVELS - 1)];
	__u64 differ = mps_match_ends(&r->ends, k->local, k->remote);
	__u32 i;

	MPS_UNROLL
	for (i = 0; i < MPS_NR_STEER_WORDS; i++)
		differ |= (k->word[i] ^ r->word[i]) & r->mask[i];
	differ |= mps_match_port(r->local_port, k->local_port) |
		  mps_match_port(r->remote_port, k->remote_port);
	differ |= r->cgroup ? r->cgroup ^ cgroup : 0;
	return !differ;
}

static __always_inline bool mps_match_path(const struct mps_steer_path *p,
					   const struct mps_steer_subflow *s)
{
	__u64 differ = mps_match_ends(&p->ends, s->local, s->remote);

	if (p->device[0])
		differ |= (p->device[0] ^ s->device[0]) | (p->device[1] ^ s->device[1]);
	if (p->local_id != MPS_STEER_ANY_ID)
		differ |= (__u64)(p->local_id ^ s->local_id);
	if (p->remote_id != MPS_STEER_ANY_ID)
		differ |= (__u64)(p->remote_id ^ s->remote_id);
	if (p->flags & MPS_STEER_ONLY_BACKUP)
		differ |= !s->backup;
	return !differ;
}

/* Is the row that is kept that of these tables, and of the subflow as it is? */
static __always_inline bool mps_match_is_kept(const struct mps_subflow_store *s, __u32 backup,
					      bool current)
{
	return current && s->as_bkup == backup &&
	       (s->row & ~MPS_STEER_ROW_OUT) != MPS_STEER_ROW_UNKNOWN;
}

/*
 * A row was found: with MPS_STEER_ROW_UNSURE where the subflow has no route, so that rows behind it
 * may yet be its own. current: by the tables that the connection's rule is of.
 */
static __always_inline void mps_match_keep(struct mps_subflow_store *s, __u32 found, __u32 backup,
					   bool current)
{
	if (!current || found & MPS_STEER_ROW_UNSURE)
		return;
	s->row = (__u8)found;
	s->as_bkup = backup;
}

/*
 * Is a path over its RTT threshold? was: it was at the last look. Back only when it is well below:
 * by an eighth. An RTT that is not known is not over.
 */
static __always_inline bool mps_match_over_rtt(const struct mps_steer_path *row, __u32 srtt_us,
					       bool was)
{
	const __u32 limit = was ? row->rtt_us - row->rtt_us / 8 : row->rtt_us;

	return row->rtt_us && srtt_us > limit;
}

/*
 * RTOs for which a path over its threshold is idle until it is tried again: nothing else would ever
 * tell that it has become faster. With the least RTO, 200 ms, that is a fragment each 3.2 s.
 */
#define MPS_STEER_RETRY_RTOS 16

/* idle, rto: of one unit, whatever the kernel's */
static __always_inline bool mps_match_is_retried(__u32 idle, __u32 rto)
{
	return rto && idle / MPS_STEER_RETRY_RTOS >= rto;
}

/* A path without a row is behind all others where it is a backup, and else in front. */
static __always_inline __u32 mps_match_rank(const struct mps_steer_path *row, bool backup)
{
	if (!row)
		return backup ? MPS_STEER_RANK_BACKUP : 0;
	return row->rank + (row->flags & MPS_STEER_METERED ? MPS_STEER_RANK_METERED : 0);
}

#endif /* MPS_MATCH_H */
