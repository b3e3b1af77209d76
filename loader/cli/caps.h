/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Least privilege: a command's table entry says what it does that takes a
 * capability; help, man page and checks follow from that, the rest is dropped.
 */
#ifndef MPS_CAPS_H
#define MPS_CAPS_H

#include <stddef.h>
#include "cli/error.h"
#include "cli/output.h"

/*
 * X(ID, capability, when, what it is taken for). when: "" where the command
 * never goes without; else only then, and what fails without it names it.
 */
#define CAP_NEEDS(X)                                                                              \
	X(LOOKUP, SYS_ADMIN, "", "find schedulers, maps and the bridge's types by their BPF ids") \
	X(PROGRAM, BPF, "", "load BPF programs and maps")                                         \
	X(TRACE, PERFMON, "", "let BPF programs read the kernel's structures")                    \
	X(SYSCTL, NET_ADMIN, "", "write net.mptcp.scheduler")                                     \
	X(EVENTS, NET_ADMIN, "", "hear of the kernel's MPTCP events")                             \
	X(ENTER, SYS_ADMIN, "for other network namespaces", "enter them")                         \
	X(LOOK, SYS_ADMIN, "to see more than names",                                              \
	  "find schedulers by their BPF ids, enter "                                              \
	  "network namespaces")                                                                   \
	X(PROCESSES, SYS_PTRACE, "for namespaces of other users' processes that have no name",    \
	  "find them")                                                                            \
	X(MODULE, SYS_MODULE, "while the bridge module is wanted and not there", "load it")       \
	X(KERNEL_LOG, SYSLOG, "while the bridge module is wanted and not there",                  \
	  "quote the kernel's reason where it refuses the module")                                \
	X(PINS, DAC_OVERRIDE, "where /sys/fs/bpf or /run belongs to another user",                \
	  "make and remove pins and the lock there")                                              \
	X(OPTION, NET_ADMIN, "for `option`", "attach programs to a cgroup")                       \
	X(OTHERS_PINS, DAC_OVERRIDE, "for schedulers that another user has pinned",               \
	  "tell that they are pinned: the kernel opens a pin for writing only")

enum cap_need {
#define CAP_ENUM(id, cap, when, text) CAP_NEED_##id,
	CAP_NEEDS(CAP_ENUM)
#undef CAP_ENUM
		NR_CAP_NEEDS
};

#define CAP_BIT(id) (1U << CAP_NEED_##id)

#define CAPS_LIST (CAP_BIT(LOOK) | CAP_BIT(PROCESSES) | CAP_BIT(OTHERS_PINS))
/* To read statistics: nothing that could write. */
#define CAPS_STATS \
	(CAP_BIT(LOOKUP) | CAP_BIT(PROGRAM) | CAP_BIT(TRACE) | CAP_BIT(ENTER) | CAP_BIT(PROCESSES))
/* To look at the kernel's schedulers, sockets and pins. */
#define CAPS_LOOK (CAPS_STATS | CAP_BIT(OTHERS_PINS))
#define CAPS_LOAD                                                                \
	(CAP_BIT(LOOKUP) | CAP_BIT(PROGRAM) | CAP_BIT(TRACE) | CAP_BIT(MODULE) | \
	 CAP_BIT(KERNEL_LOG) | CAP_BIT(PINS))
#define CAPS_UNLOAD (CAPS_STATS | CAP_BIT(PINS))
#define CAPS_CHANGE (CAPS_STATS | CAPS_LOAD | CAP_BIT(SYSCTL))

/* Namespaces are named by rules. */
#define CAPS_STEER \
	(CAP_BIT(LOOKUP) | CAP_BIT(PROGRAM) | CAP_BIT(PROCESSES) | CAP_BIT(PINS) | CAP_BIT(OPTION))

/* With the others: a command in a program of its own, which drops the rest itself. */
#define CAPS_APART (1U << 31)

/* For the help text: each capability with what it is for. */
void caps_print(unsigned int needs);
/* The same as objects of a list. */
void caps_out(output_t *list, unsigned int needs);

/* Names of the capabilities that `needs` take and this process lacks; returns how many. */
unsigned int caps_missing(unsigned int needs, char *names, size_t size);
/* Those of `needs` that a command never goes without. */
unsigned int caps_always(unsigned int needs);

/* What to do about err, where it comes from a lack of what `need` takes; else NULL. */
const char *caps_hint(int err, enum cap_need need);

/* Fails with EX_PERMISSION where a command cannot do without; then drops all but those. */
enum exit_code caps_confine(const char *command, unsigned int needs);

/* A program that is run next has this one too, whoever the user is. */
void caps_lend(enum cap_need need, bool lend);

#endif /* MPS_CAPS_H */
