/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The struct_ops type mptcp_sched_clock. Included next to kernel headers and, for the module's BTF,
 * next to nothing: struct list_head has to be there.
 */
#ifndef MSB_CLOCK_H
#define MSB_CLOCK_H

struct sk_buff;
struct sock;

struct mptcp_sched_clock {
	/*
	 * A segment, @skb, has arrived on @ssk, an established subflow of a connection whose
	 * scheduler is @name, and has changed nothing yet. Called with the subflow's lock held and
	 * bottom halves off, and on some kernels with preemption off: nothing may sleep.
	 */
	void (*segment)(struct sock *ssk, const struct sk_buff *skb);
	char name[16];
	struct list_head list; /* the bridge's own */
};

#endif /* MSB_CLOCK_H */
