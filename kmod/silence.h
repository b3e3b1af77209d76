/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Is a subflow silent? A pure function, so that a test on any machine can ask it.
 *
 * It owes data, and nothing of it was acknowledged for longer than its own past explains:
 *
 *  - the oldest of it was sent a round trip ago, and its acknowledgement may be delayed;
 *  - nothing was acknowledged for half a round trip: while much is on its way answers come one
 *    after the other, so that their end is seen long before a round trip is over;
 *  - both with the round trip's swings, and with the time that two segments take at the rate at
 *    which the path delivered last: a slow line is no dead one;
 *  - TCP's own timer fired meanwhile: then no more is waited for.
 */
#ifndef MSB_SILENCE_H
#define MSB_SILENCE_H

/* What TCP knows of a subflow that owes something; us. */
struct msb_flight {
	unsigned int srtt;  /* smoothed RTT, 0: none yet */
	unsigned int mdev;  /* its mean deviation */
	unsigned int apart; /* two segments, at the rate of the last sample; 0: none */
	unsigned int quiet; /* since anything was acknowledged, or the first of it was sent */
	unsigned int age;   /* since the oldest was sent */
	unsigned int rto;   /* TCP's own timer waits so long */
	unsigned int much;  /* is more on its way than a receiver waits for to acknowledge? */
};

#define MSB_NO_SILENCE (~0U)

static inline unsigned int msb_left_of(unsigned long long limit, unsigned int rto,
				       unsigned int gone)
{
	if (limit > rto)
		limit = rto;
	return limit > gone ? (unsigned int)limit - gone : 0;
}

/*
 * us until it counts as silent if nothing comes; 0: it does. MSB_NO_SILENCE: without an RTT
 * nobody knows. slack: the least that is waited, a delayed acknowledgement and some more.
 */
static inline unsigned int msb_until_silent(const struct msb_flight *f, unsigned int slack)
{
	const unsigned long long swing = 4ULL * f->mdev;
	const unsigned long long more = (swing > slack ? swing : slack) + f->apart;
	const unsigned long long half = f->srtt / 2;
	unsigned int age, quiet;

	if (!f->srtt)
		return MSB_NO_SILENCE;
	age = msb_left_of(f->srtt + more, f->rto, f->age);
	quiet = msb_left_of((half > slack ? half : slack) + swing + f->apart, f->rto, f->quiet);
	return age > quiet ? age : quiet;
}

/*
 * The same, until it counts as quiet: a first doubt, which costs less to be wrong about. It gets
 * nothing new, and what it owes may go again elsewhere. No acknowledgement of it is delayed, so
 * half of the slack has to do.
 */
static inline unsigned int msb_until_quiet(const struct msb_flight *f, unsigned int slack)
{
	const unsigned long long swing = 4ULL * f->mdev;

	if (!f->srtt || !f->much)
		return MSB_NO_SILENCE;
	return msb_left_of(f->srtt + (swing > slack / 2 ? swing : slack / 2) + f->apart, f->rto,
			   f->quiet);
}

#endif /* MSB_SILENCE_H */
