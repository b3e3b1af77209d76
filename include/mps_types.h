/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fixed-width types for code that is compiled three times: for BPF, for the
 * loader and for the host tests. BPF brings its own definitions (from
 * bpf/kernel.h), user space takes the kernel's UAPI ones.
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

/* Longest name of a scheduler with its NUL: MPTCP_SCHED_NAME_MAX, net/mptcp.h */
#define MPS_NAME_LEN 16

#endif /* MPS_TYPES_H */
