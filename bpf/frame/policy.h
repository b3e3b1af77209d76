/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A policy: what makes a scheduler itself, as one value. The frame does the rest.
 *
 * Members that are not named do nothing, or what most schedulers want. All of them are
 * constants: the frame's functions are inlined into the policy's programs, and so are these.
 */
#ifndef MPS_BPF_POLICY_H
#define MPS_BPF_POLICY_H

#include "kernel/compat.h"
#include "model/decision.h"
#include "state/subflow_state.h"

struct sk_buff;

/* One look at a connection, for those that complete the snapshot. */
struct mps_look {
	struct mptcp_sock *msk;
	const struct mps_conn_store *st;
	const struct mps_round *r;
};

struct mps_policy {
	/* The decision, a pure function of include/policy. It is not asked while the peer's
	 * window is shut. The one member that every policy has.
	 */
	struct mps_verdict (*pick)(const struct mps_conn *c, void *priv);
	/* The paths that get a copy of the oldest data, a mask; else where that pays
	 * (common/copy.h).
	 */
	__u64 (*copies)(const struct mps_conn *c, void *priv);

	/* Complete the snapshot, path by path, n being the path's index ... */
	void (*see_path)(const struct mps_look *l, struct mps_path *p, __u32 n, struct tcp_sock *tp,
			 struct mps_subflow_store *s);
	/* ... with what is kept as mps_path.metric ... */
	__u32 (*metric)(struct sock *ssk, const struct tcp_sock *tp);
	/* ... and all of its paths together, ... */
	void (*see_paths)(const struct mps_look *l, struct mps_conn *c, struct mps_priv *priv);
	/* ... and, in get_send, as a whole. */
	void (*see_conn)(struct mptcp_sock *msk, struct mps_conn *c, void *priv);

	/* A subflow was chosen for data. */
	void (*given)(struct mps_subflow_store *s, __u32 now_us);
	/* Are copies wanted as soon as what this verdict assigns is on its way? */
	bool (*ends_burst)(const struct mps_conn *c, const struct mps_verdict *v, void *priv);
	/* Bytes that the chosen subflow's send buffer is to take; else mps_sndbuf_share(). */
	__u32 (*sndbuf)(const struct mps_conn *c, __u32 path);

	/* A segment came in on a subflow, and has changed nothing yet. No sleeping. */
	void (*segment)(struct sock *ssk, const struct sk_buff *skb, struct tcp_sock *tp,
			struct mps_subflow_store *s);
	/* Does the ACK clock ask for copies? Else the tunable `copy` says so. */
	bool (*asks)(void);
	/* With copies_amid: ends what is acknowledged, una, before what could be copied? */
	bool (*too_early)(const struct mps_subflow_store *s, __u32 una);
	/* The subflow's socket has another connection: forget what is stored beside the frame. */
	void (*forget)(struct sock *ssk);

	/* Data is given to paths without room in their window, too, or where none has room the
	 * answer is not MPS_WAIT_NO_ROOM. Without this .pick is not asked there (common/glance.h).
	 */
	bool fills_queues;
	/* It finds out itself which paths may carry, whatever their flags say. So a glance answers
	 * only where no path at all has room.
	 */
	bool no_tiers;
	/* May a glance answer, by the policy's state? Else .pick is asked in any case. */
	bool (*glances)(const void *priv);
	/* Data is given to available paths only (mps_is_available()), and where there is none the
	 * answer is MPS_WAIT_NO_ROOM. Then .pick is not asked where there is less room, either.
	 */
	bool available_only;
	/* What .see_path adds says nothing of a path that is the only one. Without this it is
	 * called each time there, too (frame/quick.h).
	 */
	bool lone;
	/* The same of paths with something on their way, however many they are. Of an idle path it
	 * adds its RTT, which stays, and flags that no decision looks at while the writer waits for
	 * room, or within a millisecond (frame/quick.h).
	 */
	bool busy;
	/* All paths get all of the data: a loss holds nothing back, and a full window is no reason
	 * to wait. The tunables min_room, queue_cap and penalise count as 0. Nothing is passed
	 * over (frame/over.h).
	 */
	bool everywhere;
	/* The most that the tunable queue_cap counts as, where a connection's state tells. */
	__u32 (*queue_cap)(const void *priv);
	bool copies_amid; /* copies are wanted while new data could be assigned, too */
	bool copies_tail; /* copies are wanted, but not before all data was assigned */
	/* The same, where a connection's state tells. */
	bool (*tail)(const void *priv);
};

/* A policy and those functions of it that the verifier looks at once: MPS_POLICY() makes both. */
struct mps_program {
	const struct mps_policy *policy;
	__u64 (*decide)(const struct mps_conn *c, struct mps_priv *priv);
	__u64 (*copies)(const struct mps_conn *c, struct mps_priv *priv);
	int (*begin)(struct mptcp_sock *msk, struct mps_conn_store *st);
	/* mps_snap_paths() and mps_mark() of this policy */
	int (*look)(struct mptcp_sock *msk, struct mps_conn_store *st, struct mps_round *r);
	int (*mark)(struct mptcp_sock *msk, __u32 mask, const struct mps_round *r, __u32 account);
};

/* The compiler says so where a policy has no decision. */
extern void mps_policy_without_pick(void)
	__attribute__((error("this policy has no member .pick, the decision")));

#endif /* MPS_BPF_POLICY_H */
