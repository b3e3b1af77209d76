/* SPDX-License-Identifier: GPL-2.0 */
/* What every BPF program here needs before libbpf's headers: the basic types. */
#ifndef MPS_BPF_TYPES_H
#define MPS_BPF_TYPES_H

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

#endif /* MPS_BPF_TYPES_H */
