/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fixed-width types for code that is compiled three times: for BPF, for the
 * loader and for the host tests. BPF brings its own definitions (from
 * bpf/kernel/types.h), user space takes the kernel's UAPI ones.
 */
#ifndef MPS_TYPES_H
#define MPS_TYPES_H

#ifndef __bpf__
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#endif

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/*
 * A function of its own also in BPF: global there, so that the verifier checks
 * it once by itself, with any arguments, instead of once for each state of each
 * caller. Loops over the paths are such functions; without it, their outcomes
 * multiply. MPS_ARG: a pointer argument, never NULL.
 *
 * MPS_UNROLL: for a loop with several branches. The verifier keeps what it knows
 * of a place by place, and drops states that rarely match; each turn of a loop that
 * was not unrolled is another state of the same place.
 */
#ifdef __bpf__
#define MPS_FN __attribute__((noinline, weak))
#define MPS_ARG __attribute__((btf_decl_tag("arg:nonnull")))
#define MPS_UNROLL _Pragma("unroll")
#else
#define MPS_FN static inline __attribute__((unused))
#define MPS_ARG
#define MPS_UNROLL
#endif

/* Longest name of a scheduler with its NUL: MPTCP_SCHED_NAME_MAX, net/mptcp.h */
#define MPS_NAME_LEN 16

#endif /* MPS_TYPES_H */
