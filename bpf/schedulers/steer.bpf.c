// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_steer: each connection has the policy that a table of rules says, and each path the rank,
 * weight and thresholds of another table, live (docs/use/steering.md). Without tables it is
 * bpf_auto, but repeats no tail.
 *
 * Use it where paths differ in what they cost or connections in what they need: the free line
 * first, a backup that only stands by, so many per cent here and there, copies for calls. It holds
 * the policies of the other schedulers with the defaults of their tunables, but for bpf_daps and
 * bpf_queueaware, which measure more of each path than others should pay for. Which paths may carry
 * is in include/policy/steer.h.
 */
#include "frame/account.h"
#include "frame/choose.h"
#include "hooks/redundant.h"
#include "hooks/thin.h"
#include "policy/cfs.h"
#include "policy/ecf_extended.h"
#include "policy/rr.h"
#include "policy/shares.h"
#include "policy/steer_budget.h"

/* Where a mode or a policy wants less of them, they count as that. */
MPS_COMMON_TUNABLES(500, 2, 1);

/*
 * The policies, in this order. PLAIN: those that are decisions and little else; the mode tells
 * which. What is looked at by itself costs the verifier as much as another scheduler.
 */
enum { PLAIN, THIN, REDUNDANT };
enum {
	ECF = PLAIN,
	RANKS = PLAIN,
	BALANCE = PLAIN,
	MINRTT = PLAIN,
	BLEST = PLAIN,
	CFS = PLAIN,
	RR = PLAIN,
};

#define POLICY_OF(id, name, policy, text) [MPS_STEER_##id] = policy,
static const __u8 policy_of[MPS_NR_STEER_MODES] = { MPS_STEER_MODES(POLICY_OF) };

_Static_assert(sizeof(struct mps_ecf_state) <= MPS_STEER_POLICY_BYTES, "state of a policy");
_Static_assert(sizeof(struct mps_blest_state) <= MPS_STEER_POLICY_BYTES, "state of a policy");
_Static_assert(sizeof(struct mps_redundant_state) <= MPS_STEER_POLICY_BYTES, "state of a policy");

static __always_inline void see_path(const struct mps_look *l, struct mps_path *p, __u32 n,
				     struct tcp_sock *tp, struct mps_subflow_store *s)
{
	mps_steer_see_path(l, p, tp, s);
}

static __always_inline __u32 budget_of(const void *priv)
{
	return mps_steer_state((void *)priv)->budget;
}

static __always_inline __u32 mode_of(const void *priv)
{
	return mps_steer_state((void *)priv)->mode;
}

/* Decisions, each looked at once by the verifier. */

static __always_inline struct mps_verdict ecf_pick(const struct mps_conn *c, void *priv)
{
	const struct mps_ecf_options o = {
		.beta = 250,
		.estimate = MPS_EST_GROW | MPS_EST_RATE | MPS_EST_ARRIVAL,
		.whole = 1,
		.buffer = 1,
		.grow = mode_of(priv) == MPS_STEER_AUTO,
	};

	return mps_ecf_pick(c, priv, &o);
}

static __always_inline struct mps_verdict blest_pick(const struct mps_conn *c, void *priv)
{
	const struct mps_blest_options o = {
		.start = 1200,
		.min = 1000,
		.max = 1300,
		.step = 40,
		.whole = 1,
		.rate = 1,
	};

	return mps_blest_pick(c, priv, &o);
}

static __always_inline struct mps_verdict shares_pick(const struct mps_conn *c, void *priv)
{
	return mps_shares_pick(c, priv, &mps_steer_state(priv)->begun);
}

#define DECISION(id, call)                                            \
	__noinline __u64 steer_##id(const struct mps_conn *c MPS_ARG, \
				    struct mps_priv *priv MPS_ARG)    \
	{                                                             \
		barrier_var(priv);                                    \
		return mps_pack(call);                                \
	}

DECISION(ecf, ecf_pick(c, priv))
DECISION(ranks, mps_steer_ranks_pick(c))
DECISION(shares, shares_pick(c, priv))
DECISION(minrtt, mps_minrtt_pick(c))
DECISION(delay, mps_steer_delay_pick(c, priv))
DECISION(blest, blest_pick(c, priv))
DECISION(cfs, mps_cfs_pick(c, (void *)priv, 1000))
DECISION(rr, mps_rr_pick(c, (void *)priv, 1))

/* steer_classify() sees to it that there is no other mode. */
static __always_inline struct mps_verdict plain_pick(const struct mps_conn *c, void *priv)
{
	switch (mode_of(priv)) {
	case MPS_STEER_STANDBY:
	case MPS_STEER_PRIORITY:
		return mps_unpack(steer_ranks(c, priv));
	case MPS_STEER_BALANCE:
		return mps_unpack(steer_shares(c, priv));
	case MPS_STEER_MINRTT:
		return mps_unpack(steer_minrtt(c, priv));
	case MPS_STEER_BLEST:
		return mps_unpack(steer_blest(c, priv));
	case MPS_STEER_CFS:
		return mps_unpack(steer_cfs(c, priv));
	case MPS_STEER_RR:
		return mps_unpack(steer_rr(c, priv));
	default:
		return mps_unpack(steer_ecf(c, priv));
	}
}

static __always_inline void plain_ahead(struct mptcp_sock *msk, struct mps_conn *c, void *priv)
{
	const __u32 mode = mode_of(priv);

	if (mode == MPS_STEER_AUTO || mode == MPS_STEER_ECF)
		mps_ecf_look_ahead(c, priv, msk->snd_nxt, mps_writer_waits(msk), 250);
}

static __always_inline bool plain_tail(const void *priv)
{
	return mps_steer_tail(mode_of(priv));
}

static __always_inline __u64 plain_copies(const struct mps_conn *c, void *priv)
{
	return mode_of(priv) == MPS_STEER_CFS ? mps_cfs_copies(c) : mps_copy_if_it_pays(c);
}

static __always_inline __u32 plain_cap(const void *priv)
{
	return mps_steer_queue_cap(mode_of(priv));
}

/* These keep times while they wait, or wait for a turn. */
static __always_inline bool plain_glances(const void *priv)
{
	const __u32 closely =
		1U << MPS_STEER_STANDBY | 1U << MPS_STEER_PRIORITY | 1U << MPS_STEER_BALANCE;

	return !(closely >> (mode_of(priv) & 31) & 1);
}

MPS_POLICY(steer_plain, .pick = plain_pick, .no_tiers = true, .glances = plain_glances,
	   .copies = plain_copies, .tail = plain_tail, .metric = mps_account_look,
	   .see_path = see_path, .see_paths = mps_steer_paths, .see_conn = plain_ahead,
	   .queue_cap = plain_cap);

/* bpf_thin; and bpf_auto, which is bpf_ecf with its probes, but for the tail's budget */

#define THIN_LENGTH 2

static __always_inline void thin_path(const struct mps_look *l, struct mps_path *p, __u32 n,
				      struct tcp_sock *tp, struct mps_subflow_store *s)
{
	const __u32 over = p->metric;

	mps_thin_see(l, p, tp, s, 4, 3, mode_of(&l->st->priv) == MPS_STEER_AUTO);
	/* in its place are delays of clocks now, which no mode goes by */
	p->metric = over;
	see_path(l, p, n, tp, s);
	mps_steer_spare_probe(p);
}

static __always_inline bool thin_asks(void)
{
	return true;
}

static __always_inline bool thin_ends(const struct mps_conn *c, const struct mps_verdict *v,
				      void *priv)
{
	return mps_thin_ends_burst(c, v->path, v->bytes, THIN_LENGTH);
}

static __always_inline struct mps_verdict thin_pick(const struct mps_conn *c, void *priv)
{
	if (mode_of(priv) == MPS_STEER_AUTO)
		return mps_unpack(steer_ecf(c, priv));
	if (mode_of(priv) == MPS_STEER_DELAY)
		return mps_unpack(steer_delay(c, priv));
	return mps_minrtt_pick(c);
}

static __always_inline __u64 thin_copies(const struct mps_conn *c, void *priv)
{
	return mps_thin_probes(c, THIN_LENGTH) ?: copy ? mps_copy_if_it_pays(c) : MPS_COPY_NONE;
}

MPS_POLICY(steer_thin, .pick = thin_pick, .no_tiers = true, .copies = thin_copies,
	   .metric = mps_account_look, .see_path = thin_path, .see_paths = mps_steer_paths,
	   .see_conn = plain_ahead, .segment = mps_thin_segment, .asks = thin_asks,
	   .given = mps_thin_given, .ends_burst = thin_ends, .queue_cap = plain_cap);

/* bpf_redundant */

#define REDUNDANT_WINDOWS 8
#define REDUNDANT_AHEAD 2

static __always_inline __u32 most(void)
{
	return mps_passes_go_on() ? 63 : 1;
}

static __always_inline void redundant_path(const struct mps_look *l, struct mps_path *p, __u32 n,
					   struct tcp_sock *tp, struct mps_subflow_store *s)
{
	mps_redundant_see(l, p, n, s);
	mps_budget_see((struct mps_priv *)&l->st->priv, n, s);
	see_path(l, p, n, tp, s);
}

static __always_inline bool redundant_ends(const struct mps_conn *c, const struct mps_verdict *v,
					   void *priv)
{
	if (budget_of(priv))
		return mps_budget_ends(c, v, priv);
	return c->nr_paths > 1 && !mps_redundant_is_ahead(priv, c->unacked + v->bytes);
}

static __always_inline __u32 redundant_room(const struct mps_conn *c, __u32 path)
{
	return mps_redundant_sndbuf(most());
}

static __always_inline struct mps_verdict redundant_pick(const struct mps_conn *c, void *priv)
{
	const struct mps_redundant_options o = {
		.strict = !budget_of(priv),
		.most = most(),
		.windows = REDUNDANT_WINDOWS,
		.ahead = REDUNDANT_AHEAD,
	};

	return mps_redundant_pick(c, priv, &o);
}

static __always_inline __u64 redundant_copies(const struct mps_conn *c, void *priv)
{
	if (budget_of(priv))
		return mps_budget_copies(c, priv);
	return mps_redundant_copies(c, priv, REDUNDANT_WINDOWS);
}

MPS_POLICY(steer_redundant, .pick = redundant_pick, .fills_queues = true,
	   .copies = redundant_copies, .copies_amid = true, .metric = mps_account_look,
	   .see_path = redundant_path, .see_paths = mps_steer_paths, .everywhere = true,
	   .too_early = mps_redundant_too_early, .ends_burst = redundant_ends,
	   .sndbuf = redundant_room);

/* The rule, and what it says: by these tables. In front of all: what the socket's option says. */
__noinline int steer_classify(struct mptcp_sock *msk MPS_TRUSTED, struct mps_conn_store *st MPS_ARG,
			      const struct mps_steer_table *t MPS_ARG)
{
	struct mptcp_subflow_context *subflow;
	struct mps_steer_key k;
	__u32 rule = 0, mode = MPS_STEER_AUTO, budget = 0;
	const __u32 wish = mps_steer_wish(msk);

	if (wish) {
		mode = wish - 1;
	} else {
		mps_read_key(&k, msk);
		rule = mps_steer_find_rule(t, &k);
	}
	if (rule - 1 < MPS_STEER_RULES) {
		mode = t->rule[(rule - 1) & (MPS_STEER_RULES - 1)].mode;
		budget = t->rule[(rule - 1) & (MPS_STEER_RULES - 1)].budget;
	}
	mode = mode < MPS_NR_STEER_MODES ? mps_steer_mode_at_work(t, mode) : MPS_STEER_AUTO;
	mps_steer_begin(&st->priv, mode, rule, t->generation);
	mps_budget_begin(&st->priv, mode, budget);
	mps_for_each_subflow(subflow, msk) {
		struct sock *ssk = bpf_mptcp_subflow_tcp_sock(subflow);
		struct mps_subflow_store *sub = ssk ? mps_subflow_store(ssk) : NULL;

		if (!sub)
			break;
		sub->row = MPS_STEER_ROW_UNKNOWN;
	}
	return 0;
}

static __always_inline __u32 choose(struct mptcp_sock *msk, struct mps_conn_store *st)
{
	const struct mps_steer_table *t = mps_steer_table();
	struct mps_steer_state *s = mps_steer_state(&st->priv);

	if (t && t->generation != s->generation)
		steer_classify(msk, st, t);
	return s->mode < MPS_NR_STEER_MODES ? policy_of[s->mode] : PLAIN;
}

MPS_ACCOUNTS(bpf_steer)

MPS_SCHEDULER_CHOOSES(bpf_steer, "by rules and costs of paths, each connection its policy", ,
		      choose, steer_plain, steer_thin, steer_redundant);
