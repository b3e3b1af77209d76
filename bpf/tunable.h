/* SPDX-License-Identifier: GPL-2.0 */
/* Tunables of a scheduler, which its object describes itself. */
#ifndef MPS_BPF_TUNABLE_H
#define MPS_BPF_TUNABLE_H

#include "types.h"

/*
 * A number that `mptcp-sched load --set NAME=VALUE` changes before the object
 * is loaded. Integers, `scale` to one: default 250, scale 1000 is 0.25. The
 * loader reads range and meaning from the object itself (BTF declaration tag).
 */
#define MPS_TUNABLE(name, def, min, max, scale, text)                                             \
	const volatile __u32 name                                                                 \
		__attribute__((btf_decl_tag("mps:tunable:" #min ":" #max ":" #scale ":" text))) = \
			def

#endif /* MPS_BPF_TUNABLE_H */
