// SPDX-License-Identifier: GPL-2.0
/*
 * Sequences of snapshots through one scheduler's decision (FUZZ_POLICY), put together as the frame
 * does it: room for a part of the fragment, the queue cap, the scheduler's own completion, the
 * pick, the rest of a fragment. Claims, for each of them:
 *
 *  - the path can send: active, of the tier, not in recovery after a timeout, with room;
 *  - bytes in their bounds, and some unless it is a probe of a closed window;
 *  - a reason to wait is true, and something will come that ends it: once all is acknowledged
 *    whoever waited sends;
 *  - where no window has room, or none has enough for who wants that, by a glance, the reason is
 *    that (but of who fills queues);
 *  - paths beyond nr_paths do not matter, and the snapshot does not change;
 *  - the state stays in its ranges.
 */
#include "policies.h"
#include "common/glance.h"
#include "common/queue_cap.h"
#include "common/fragment.h"

static const struct policy *policy;

static struct mps_verdict decide(const struct mps_conn *c, struct mps_priv *priv, bool copy)
{
	struct mps_verdict v;

	if (!c->wnd_left)
		return mps_window_closed(c);
	v = policy->pick(c, priv);
	return copy ? mps_with_rest(c, v, policy->tail) : v;
}

/* Decides twice, with unlike paths where there are none. */
static struct mps_verdict decide_twice(struct mps_conn *c, struct mps_priv *priv, bool copy)
{
	struct mps_conn other = *c;
	struct mps_priv its = *priv;
	struct mps_verdict v, w;

	spoil_beyond(c, true);
	spoil_beyond(&other, false);
	v = decide(c, priv, copy);
	w = decide(&other, &its, copy);
	claim(!memcmp(&v, &w, sizeof(v)), "paths that are not there do not matter");
	claim(!memcmp(priv, &its, sizeof(its)), "nor do they for the state");
	return v;
}

/* --- the path and its bytes */

/* A batch waits in the subflows' queues, and the best path takes less than a segment. */
static bool may_send(const struct mps_conn *c, const struct mps_path *p)
{
	if (!is_usable(c, p) || !takes_data(p))
		return false;
	if (!strcmp(policy->name, "redundant"))
		return true;
	if (policy->pick == pick_ecf)
		return room(p) > 0;
	return has_room(c, p);
}

static void check_rest(const struct mps_conn *c, const struct mps_path *p, __u32 bytes)
{
	claim(p->flags & MPS_PATH_BEGAN, "the rest goes where the beginning went");
	claim(is_usable(c, p) && !(p->flags & MPS_PATH_LOSS), "that one can send");
	claim(bytes == (c->unit < c->wnd_left ? c->unit : c->wnd_left), "it is the rest");
}

static void check_path(const struct mps_conn *c, const struct mps_verdict *v, bool rest)
{
	const struct mps_path *p = &c->path[v->path];

	claim(v->path < c->nr_paths, "a path that there is");
	claim(v->bytes <= c->wnd_left, "no more than the peer's window takes");
	claim(v->bytes <= BURST, "no more than a burst");
	if (!c->wnd_left) {
		claim(is_usable(c, p) && !c->unacked, "a probe where nothing else would tell");
		return;
	}
	if (c->unit)
		claim(v->bytes, "a choice assigns something");
	if (rest) {
		check_rest(c, p, v->bytes);
		return;
	}
	claim(may_send(c, p), "the chosen path can send");
	if (strcmp(policy->name, "redundant"))
		claim(v->bytes <= room(p), "no more than the window takes");
	if (!p->srtt_us && c->unit)
		claim(v->bytes <= c->unit, "a fragment for who is only measured");
}

/* --- waiting */

static bool is_full(const struct mps_conn *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_paths; i++)
		if (is_usable(c, &c->path[i]) && has_room(c, &c->path[i]))
			return false;
	return true;
}

/* Does somebody who is worth waiting for owe something, and has one with less to offer room? */
static bool waits_for_somebody(const struct mps_conn *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_paths; i++) {
		const struct mps_path *p = &c->path[i];

		if (is_usable(c, p) && !(p->flags & MPS_PATH_LOSS) && p->srtt_us &&
		    (p->inflight || p->unsent) && !has_room(c, p))
			return true;
	}
	return false;
}

/* A usable path that owes something has no room. */
static bool waits_for_a_turn(const struct mps_conn *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_paths; i++)
		if (is_usable(c, &c->path[i]) && owes(&c->path[i]) && !has_room(c, &c->path[i]))
			return true;
	return false;
}

static bool may_wait_for(const struct mps_conn *c, __u32 reason, const struct mps_priv *priv)
{
	const bool is_ecf = policy->pick == pick_ecf;
	const bool is_redundant = !strcmp(policy->name, "redundant");

	switch (reason) {
	case MPS_WAIT_NO_SUBFLOW:
		return !any_active(c);
	case MPS_WAIT_NO_ROOM:
		return is_full(c) || (is_redundant && c->unacked);
	case MPS_WAIT_PEER_WINDOW:
		return !c->wnd_left && c->unacked;
	case MPS_WAIT_FASTER:
		return is_ecf && waits_for_somebody(c);
	case MPS_WAIT_WINDOW:
		return (!strcmp(policy->name, "blest") || !strcmp(policy->name, "cfs")) &&
		       waits_for_somebody(c);
	case MPS_WAIT_TURN:
		return (daps_patient && !strcmp(policy->name, "daps") && waits_for_somebody(c)) ||
		       (steering.mode == MPS_STEER_BALANCE && waits_for_a_turn(c));
	case MPS_WAIT_COPIES:
		return is_redundant && c->unacked;
	default:
		return false;
	}
}

/* All is acknowledged and nothing has been asked meanwhile. */
static void check_end_of_wait(const struct mps_conn *c, const struct mps_priv *priv, bool copy)
{
	struct mps_conn later = *c;
	struct mps_priv its = *priv;
	unsigned int i;

	for (i = 0; i < c->nr_paths; i++) {
		struct mps_path *p = &later.path[i];

		p->inflight = p->unsent = 0;
		p->flags |= MPS_PATH_IDLE | MPS_PATH_SNDBUF;
		p->flags &= 0xfff & ~MPS_PATH_LOSS;
	}
	later.unacked = 0;
	later.wnd_left = later.wnd_left ?: 1;
	later.pending = later.pending ?: 1;
	claim(decide(&later, &its, copy).path >= 0, "a wait has an end");
}

static void check_wait(const struct mps_conn *c, const struct mps_priv *priv, __u32 reason,
		       bool copy)
{
	unsigned int i, coming = c->unacked > 0;

	claim(reason < MPS_NR_WAIT_REASONS, "a reason that there is");
	claim(may_wait_for(c, reason, priv), "the reason to wait is true");
	if (reason == MPS_WAIT_NO_SUBFLOW)
		return;
	for (i = 0; i < c->nr_paths; i++)
		coming |= is_usable(c, &c->path[i]) && owes(&c->path[i]);
	claim(coming, "something will come that ends the wait");
	if (any_active(c))
		check_end_of_wait(c, priv, copy);
}

/* A glance knows active paths only, and that the window is open. */
static bool waits_at_a_glance(const struct mps_conn *c)
{
	struct mps_glance g = { 0 };
	unsigned int i;

	for (i = 0; i < c->nr_paths; i++) {
		if (!is_active(&c->path[i]))
			return false;
		mps_glance_add(&g, &c->path[i], is_backup(&c->path[i]),
			       policy->available_only ? c->fit : 0);
	}
	return c->wnd_left && mps_glance_waits(&g);
}

/* --- sequences */

static bool went_with_the_rest(const struct mps_conn *c, const struct mps_priv *before,
			       const struct mps_verdict *v)
{
	struct mps_priv priv = *before;

	return c->wnd_left && decide(c, &priv, false).path != v->path;
}

static void step(struct draw *d, struct mps_conn *c, struct mps_priv *priv, unsigned int fit)
{
	const uint8_t how = draw_byte(d);
	const bool copy = how & 1;
	struct mps_conn kept;
	struct mps_priv before;
	struct mps_verdict v;

	draw_conn(d, c, fit);
	if (how & 2)
		mps_cover(c, how >> 2 & 1);
	if (policy->complete)
		policy->complete(d, c, priv);
	kept = *c;
	before = *priv;
	v = decide_twice(c, priv, copy);
	claim(!memcmp(&kept, c, offsetof(struct mps_conn, path[c->nr_paths])),
	      "the snapshot stays as it is");
	policy->check(c, priv);
	if (!policy->fills_queues && waits_at_a_glance(c))
		claim(v.path < 0 && v.reason == MPS_WAIT_NO_ROOM, "there is no room");
	if (v.path >= 0)
		check_path(c, &v, copy && went_with_the_rest(c, &before, &v));
	else
		check_wait(c, priv, v.reason, copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct draw d = { data, data + size };
	struct mps_priv priv = { 0 };
	struct mps_conn c = { 0 };
	const unsigned int fit = draw_bit(&d) ? 500 : (unsigned int)draw_up_to(&d, 1000);

	policy = policy_named(FUZZ_POLICY);
	if (policy->options)
		policy->options(&d);
	while (draw_more(&d))
		step(&d, &c, &priv, fit);
	return 0;
}
