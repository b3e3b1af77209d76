/* SPDX-License-Identifier: GPL-2.0 */
/* Least privilege: what a command needs is in its table entry, the rest is dropped. */
#ifndef MPS_CAPS_H
#define MPS_CAPS_H

#include <stddef.h>
#include "report.h"

/* X(ID, what for) */
#define CAPS(X)                                                                \
	X(SYS_ADMIN, "look BPF objects up by id, enter network namespaces")    \
	X(BPF, "load BPF programs and maps")                                   \
	X(PERFMON, "let BPF programs read kernel structures")                  \
	X(NET_ADMIN, "load network programs, change net.mptcp.scheduler")      \
	X(SYS_MODULE, "load the bridge module")                                \
	X(SYS_PTRACE, "find the network namespaces of other users' processes") \
	X(DAC_OVERRIDE, "write below /sys/fs/bpf and read other users' files")

enum cap_index {
#define CAP_ENUM(id, text) CAP_INDEX_##id,
	CAPS(CAP_ENUM)
#undef CAP_ENUM
		NR_CAPS
};

#define CAP_BIT(id) (1U << CAP_INDEX_##id)

/* With the others: a command in a program of its own, which drops the rest itself. */
#define CAPS_APART (1U << 31)

/* To look at the kernel's schedulers and sockets. */
#define CAPS_LOOK                                                                     \
	(CAP_BIT(SYS_ADMIN) | CAP_BIT(BPF) | CAP_BIT(PERFMON) | CAP_BIT(SYS_PTRACE) | \
	 CAP_BIT(DAC_OVERRIDE))
#define CAPS_CHANGE (CAPS_LOOK | CAP_BIT(NET_ADMIN) | CAP_BIT(SYS_MODULE))

/* Those that a command cannot do without; SYS_MODULE matters for the bridge only. */
#define CAPS_ESSENTIAL (CAP_BIT(SYS_ADMIN) | CAP_BIT(BPF) | CAP_BIT(PERFMON) | CAP_BIT(NET_ADMIN))

/* For the help text: each of them with what it is for. */
void caps_print(unsigned int which);

/* Names of those of `wanted` that this process lacks; returns how many. */
unsigned int caps_missing(unsigned int wanted, char *names, size_t size);

/* Fails with EX_PERMISSION where an essential one lacks; then drops all but `wanted`. */
enum exit_code caps_confine(const char *command, unsigned int wanted);

#endif /* MPS_CAPS_H */
