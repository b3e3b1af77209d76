/* SPDX-License-Identifier: GPL-2.0 */
/* Tunables of a scheduler, which its object describes itself. */
#ifndef MPS_BPF_TUNABLE_H
#define MPS_BPF_TUNABLE_H

#include "types.h"

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

#define MPS_TUNABLE_TAG(min, max, scale, text) \
	__attribute__((btf_decl_tag("mps:tunable:" #min ":" #max ":" #scale ":" text)))

#endif /* MPS_BPF_TUNABLE_H */
