/* SPDX-License-Identifier: GPL-2.0 */
/* Tunables of a scheduler, which its object describes itself. */
#ifndef MPS_BPF_TUNABLE_H
#define MPS_BPF_TUNABLE_H

#include "kernel/types.h"

/*
 * A number that `mptcp-sched load --set NAME=VALUE` sets, and `mptcp-sched set`
 * changes while the scheduler is at work: each decision may find another value,
 * which is why one that needs it twice keeps it. Integers, `scale` to one:
 * default 250, scale 1000 is 0.25. The loader reads range and meaning from the
 * object itself (BTF declaration tag). Even a zero lies in .data: .bss is not
 * for what has an initial value.
 */
#define MPS_TUNABLE(name, def, min, max, scale, text)              \
	volatile __u32 name MPS_TUNABLE_TAG(min, max, scale, text) \
		__attribute__((section(".data"))) = def

/*
 * The same for a number that is fixed at load. The verifier knows it then, and
 * what it switches off is not even in the kernel.
 */
#define MPS_TUNABLE_FIXED(name, def, min, max, scale, text) \
	const volatile __u32 name MPS_TUNABLE_TAG(min, max, scale, text) = def

/*
 * Before a tracing program or a clock: `mptcp-sched load` neither loads nor attaches it where that
 * tunable, which has to be a fixed one, is 0.
 */
#define MPS_ONLY_WITH(name) __attribute__((btf_decl_tag("mps:only-with:" #name)))

/* The same, where only its requests for copies end: `show` says that none are made. */
#define MPS_COPIES_WITH(name) __attribute__((btf_decl_tag("mps:copies-with:" #name)))

/* Before a tunable: the name that it had, which the command refuses with the new one. */
#define MPS_WAS(name, old) extern volatile __u32 name __attribute__((btf_decl_tag("mps:was:" #old)))

#define MPS_TUNABLE_TAG(min, max, scale, text) \
	__attribute__((btf_decl_tag("mps:tunable:" #min ":" #max ":" #scale ":" text)))

/*
 * MPS_COMMON_TUNABLES(min_room, queue_cap, penalise): those of the frame, with the defaults of
 * three that are not right for every scheduler. Each has them, in its file. Where all subflows get
 * all of the data a loss on one holds nothing back, and a full window is no reason to wait: then
 * all three are 0.
 *
 * Copies are fixed, so that without them the ACK clock, which sees every TCP segment, is nothing.
 */
#define MPS_COMMON_TUNABLES(min_room_default, queue_cap_default, penalise_default)                 \
	MPS_TUNABLE_FIXED(copy, 1, 0, 1, 1,                                                        \
			  "reinject the oldest data on a faster subflow that delivers it sooner"); \
	MPS_WAS(min_room, fit);                                                                    \
	MPS_TUNABLE(min_room, min_room_default, 0, 1000, 1000,                                     \
		    "least room before a subflow gets data: this part of the next "                \
		    "fragment, or an eighth of its window");                                       \
	MPS_WAS(queue_cap, cover);                                                                 \
	MPS_TUNABLE(queue_cap, queue_cap_default, 0, 2, 1,                                         \
		    "1: no queue on a slower subflow that a loss would make fill the "             \
		    "peer's window; 2: nor one that delays the end; 0: no such limit");            \
	MPS_TUNABLE(sndbuf, 1, 0, 1, 1,                                                            \
		    "1: the send buffer takes what all subflows carry in the slowest "             \
		    "one's round trip; 0: as the kernel has it");                                  \
	MPS_TUNABLE(penalise, penalise_default, 0, 1, 1,                                           \
		    "use less of the congestion window of a subflow that fills the "               \
		    "peer's window");                                                              \
	MPS_TUNABLE(silence, 45, 0, 10000, 1,                                                      \
		    "ms without an answer, beyond what its RTT explains, after which a "           \
		    "subflow is left; 0: left to the kernel");                                     \
	typedef int mps_common_tunables

extern const volatile __u32 copy;
extern volatile __u32 min_room, queue_cap, sndbuf, penalise, silence;

#endif /* MPS_BPF_TUNABLE_H */
