/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The schedulers as bpf/schedulers/NAME.bpf.c puts them together: options within the ranges of
 * their tunables, what completes a snapshot, the pick, and what must be true of the state behind
 * it.
 */
#ifndef MPS_TESTS_POLICIES_H
#define MPS_TESTS_POLICIES_H

#include "snapshot.h"
#include "policy/auto.h"
#include "policy/blest.h"
#include "policy/cfs.h"
#include "policy/daps.h"
#include "policy/ecf_extended.h"
#include "policy/queueaware.h"
#include "policy/redundant.h"
#include "policy/rr.h"
#include "policy/shares.h"
#include "policy/steer.h"
#include "state/stats.h"
#include "policy/thin.h"

struct policy {
	const char *name;
	void (*options)(struct draw *d);
	void (*complete)(struct draw *d, struct mps_conn *c, void *priv);
	struct mps_verdict (*pick)(const struct mps_conn *c, struct mps_priv *priv);
	void (*check)(const struct mps_conn *c, const void *priv);
	bool tail; /* copies wait until all is assigned (.copies_tail) */
	bool fills_queues;
	bool available_only;
};

static inline unsigned int switched(struct draw *d)
{
	return draw_bit(d);
}

static inline void check_untouched(const struct mps_conn *c, const void *priv)
{
	static const struct mps_priv zero;

	claim(!memcmp(priv, &zero, sizeof(zero)), "a scheduler without a state keeps none");
}

/* --- minrtt, queueaware */

static inline struct mps_verdict pick_minrtt(const struct mps_conn *c, struct mps_priv *priv)
{
	return mps_minrtt_pick(c);
}

static inline struct mps_verdict pick_queueaware(const struct mps_conn *c, struct mps_priv *priv)
{
	return mps_queueaware_pick(c);
}

/* --- ecf */

static struct mps_ecf_options ecf;
static unsigned int ecf_ahead;

static inline void options_ecf(struct draw *d)
{
	ecf.beta = (__u32)draw_up_to(d, 10000);
	ecf.estimate = draw_byte(d) & (MPS_EST_GROW | MPS_EST_RATE | MPS_EST_ARRIVAL);
	ecf.whole = switched(d);
	ecf.buffer = switched(d);
	ecf.grow = switched(d);
	ecf_ahead = (unsigned int)draw_up_to(d, 1000);
}

static inline void complete_ecf(struct draw *d, struct mps_conn *c, void *priv)
{
	struct mps_ecf_state *st = priv;
	const __u64 pending = c->pending;
	static __u64 given;

	/* it never falls; what was assigned is unacknowledged or before that */
	given = st->begun + draw_up_to(d, 1ULL << 40);
	mps_ecf_look_ahead(c, st, given, switched(d), ecf_ahead);
	claim(c->pending - pending == st->ahead, "what is expected comes on top");
	claim(st->ahead <= given - (c->unacked ? 0 : given), "no more is expected than was given");
	claim(st->ahead <= (1ULL << 34) * ecf_ahead / 1000, "what is expected has a bound");
}

static inline struct mps_verdict pick_ecf(const struct mps_conn *c, struct mps_priv *priv)
{
	return mps_ecf_pick(c, (void *)priv, &ecf);
}

static inline void check_ecf(const struct mps_conn *c, const void *priv)
{
	const struct mps_ecf_state *st = priv;

	claim(st->waiting <= 1, "it waits or it does not");
}

/* --- auto: ecf, with a budget for the tail */

static __u32 auto_budget;

static inline void options_auto(struct draw *d)
{
	options_ecf(d);
	auto_budget = (__u32)draw_up_to(d, 1000);
}

/* It assigns, and a pass for copies may come. */
static inline void complete_auto(struct draw *d, struct mps_conn *c, void *priv)
{
	struct mps_auto_state *st = priv;
	__u32 before;

	complete_ecf(d, c, &st->ecf);
	mps_auto_earn(st, draw_up_to(d, ~0ULL), auto_budget);
	before = st->credit;
	if (switched(d))
		mps_auto_copies(c, st, (__u32)draw_between(d, 1, 45), switched(d));
	claim(st->credit <= before, "a copy earns nothing");
}

static inline void check_auto(const struct mps_conn *c, const void *priv)
{
	const struct mps_auto_state *st = priv;

	check_ecf(c, &st->ecf);
	claim(st->credit <= MPS_AUTO_CREDIT_MAX * MPS_AUTO_SCALE, "credit has a bound");
	claim(auto_budget || !st->credit, "no budget, no credit");
}

/* --- blest, cfs */

static struct mps_blest_options blest;
static unsigned int cfs_factor;

static inline void options_blest(struct draw *d)
{
	blest.start = (__u32)draw_between(d, 1, 16000);
	blest.min = (__u32)draw_between(d, 1, 16000);
	blest.max = (__u32)draw_between(d, 1, 16000);
	blest.step = (__u32)draw_up_to(d, 1000);
	blest.whole = switched(d);
	blest.rate = switched(d);
}

static inline struct mps_verdict pick_blest(const struct mps_conn *c, struct mps_priv *priv)
{
	return mps_blest_pick(c, (void *)priv, &blest);
}

static inline void check_blest(const struct mps_conn *c, const void *priv)
{
	const struct mps_blest_state *st = priv;
	const __u32 most = blest.max > blest.min ? blest.max : blest.min;

	if (st->lambda)
		claim(st->lambda >= blest.min && st->lambda <= most, "lambda in its bounds");
}

static inline void options_cfs(struct draw *d)
{
	cfs_factor = (unsigned int)draw_up_to(d, 16000);
}

static inline struct mps_verdict pick_cfs(const struct mps_conn *c, struct mps_priv *priv)
{
	return mps_cfs_pick(c, (void *)priv, cfs_factor);
}

static inline void check_cfs(const struct mps_conn *c, const void *priv)
{
	const struct mps_blest_state *st = priv;

	if (!cfs_factor)
		check_untouched(c, priv);
	claim(!st->lambda || st->lambda == cfs_factor, "its factor does not adapt");
}

/* --- daps */

static unsigned int daps_patient;

static inline void options_daps(struct draw *d)
{
	daps_patient = switched(d);
}

/* What the last pick gave, and what the core completed of its fragment. */
static inline void complete_daps(struct draw *d, struct mps_conn *c, void *priv)
{
	const struct mps_daps_state *st = priv;

	if (st->last && draw_bit(d))
		c->path[(st->last - 1) % PATHS].metric = st->seq + (__u32)draw_up_to(d, 96 << 10);
}

static inline struct mps_verdict pick_daps(const struct mps_conn *c, struct mps_priv *priv)
{
	return mps_daps_pick(c, (void *)priv, daps_patient);
}

static inline void check_daps(const struct mps_conn *c, const void *priv)
{
	const struct mps_daps_state *st = priv;
	unsigned int i;

	claim(st->nr_paths <= PATHS && st->last <= PATHS, "paths that there are");
	claim(st->rest < 64, "less than a unit");
	for (i = 0; i < PATHS; i++)
		claim(st->left[i] >= -(96 << 10) / 64 && st->left[i] <= (1 << 20) / 64,
		      "a share and a debt have their bounds");
}

/* --- rr */

static unsigned int rr_segments;

static inline void options_rr(struct draw *d)
{
	rr_segments = (unsigned int)draw_between(d, 1, 45);
}

static inline struct mps_verdict pick_rr(const struct mps_conn *c, struct mps_priv *priv)
{
	return mps_rr_pick(c, (void *)priv, rr_segments);
}

static inline void check_rr(const struct mps_conn *c, const void *priv)
{
	const struct mps_rr_state *st = priv;

	claim(st->next <= PATHS, "the turn of one that there may be");
}

/* --- redundant */

static struct mps_redundant_options redundant;

static inline void options_redundant(struct draw *d)
{
	redundant.strict = !draw_byte(d) || switched(d);
	redundant.most = (__u32)draw_between(d, 1, 63);
	redundant.windows = (__u32)draw_between(d, 1, 64);
	redundant.ahead = (__u32)draw_between(d, 1, 64);
}

/* A pass for copies may come before it. */
static inline void complete_redundant(struct draw *d, struct mps_conn *c, void *priv)
{
	if (switched(d))
		mps_redundant_copies(c, priv, redundant.windows);
}

static inline struct mps_verdict pick_redundant(const struct mps_conn *c, struct mps_priv *priv)
{
	return mps_redundant_pick(c, (void *)priv, &redundant);
}

static inline void check_redundant(const struct mps_conn *c, const void *priv)
{
	const struct mps_redundant_state *st = priv;

	claim(st->lead < PATHS, "the path that leads is one");
	claim(st->given <= redundant.most && st->last <= redundant.most, "fragments of a batch");
	claim(st->open <= (__u64)st->given * BURST, "bytes of a batch that is not copied yet");
}

/* --- thin */

static unsigned int thin_delay;

static inline void options_thin(struct draw *d)
{
	thin_delay = switched(d);
}

static inline struct mps_verdict pick_thin(const struct mps_conn *c, struct mps_priv *priv)
{
	return mps_thin_pick(c, priv, thin_delay);
}

static inline void check_thin(const struct mps_conn *c, const void *priv)
{
	const struct mps_priv *p = priv;

	claim(!(p->notes >> MPS_NR_NOTES), "notes that there are");
}

/* --- steer: its own modes */

static struct mps_steer_options steering;

static inline void options_steer(struct draw *d)
{
	static const __u32 modes[] = { MPS_STEER_STANDBY, MPS_STEER_BALANCE, MPS_STEER_PRIORITY };

	steering.mode = modes[draw_byte(d) % 3];
	steering.deadline_us = switched(d) ? MPS_STEER_NO_DEADLINE : (__u32)draw_up_to(d, ~0U);
}

/* Its filter, for a path each what rows may say of it, and perhaps one for copies before it. */
static inline void complete_steer(struct draw *d, struct mps_conn *c, void *priv)
{
	unsigned int i, active = 0;
	__u32 notes;

	for (i = 0; i < c->nr_paths; i++) {
		c->path[i].metric =
			mps_steer_metric(draw_byte(d), draw_byte(d) % 101, switched(d)) |
			switched(d) * MPS_STEER_OVER_LOSS;
		active |= c->path[i].flags & MPS_PATH_ACTIVE;
	}
	steering.head = (__u32)draw_up_to(d, ~0U);
	steering.waits = switched(d);
	steering.copy = switched(d);
	notes = mps_steer_filter(c, priv, &steering);
	claim(!(notes >> MPS_NR_NOTES), "notes that there are");
	claim(!active || mps_usable_tier(c) == 0, "some active path may carry");
}

static inline struct mps_verdict pick_steer(const struct mps_conn *c, struct mps_priv *priv)
{
	if (steering.mode == MPS_STEER_BALANCE)
		return mps_shares_pick(c, (void *)priv, &mps_steer_state(priv)->begun);
	return mps_steer_ranks_pick(c);
}

static inline void check_steer(const struct mps_conn *c, const void *priv)
{
	const struct mps_steer_state *s = mps_steer_state((void *)priv);

	claim(!s->generation && !s->rule && !s->mode, "what the tables say is nobody else's");
}

static const struct policy policies[] = {
	{ "minrtt", NULL, NULL, pick_minrtt, check_untouched, false, false, true },
	{ "ecf", options_ecf, complete_ecf, pick_ecf, check_ecf, false, false, false },
	{ "auto", options_auto, complete_auto, pick_ecf, check_auto, false, false, false },
	{ "blest", options_blest, NULL, pick_blest, check_blest, false, false, false },
	{ "queueaware", NULL, NULL, pick_queueaware, check_untouched, false, false, true },
	{ "cfs", options_cfs, NULL, pick_cfs, check_cfs, true, false, false },
	{ "thin", options_thin, NULL, pick_thin, check_thin, false, false, false },
	{ "redundant", options_redundant, complete_redundant, pick_redundant, check_redundant,
	  false, true, false },
	{ "daps", options_daps, complete_daps, pick_daps, check_daps, false, true, false },
	{ "rr", options_rr, NULL, pick_rr, check_rr, false, false, true },
	{ "steer", options_steer, complete_steer, pick_steer, check_steer, false, true, false },
};

static inline const struct policy *policy_named(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(policies) / sizeof(policies[0]); i++)
		if (!strcmp(policies[i].name, name))
			return &policies[i];
	abort();
}

#endif /* MPS_TESTS_POLICIES_H */
