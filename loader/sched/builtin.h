/* SPDX-License-Identifier: GPL-2.0 */
/* The scheduler objects inside the command; the table is made by loader.mk. */
#ifndef MPS_BUILTIN_H
#define MPS_BUILTIN_H

#include <stddef.h>
#include "kernel/kern.h"

/* Who names none gets this one. */
#define BUILTIN_AUTO "bpf_auto"

struct builtin {
	const char *name; /* of the scheduler, as the kernel knows it */
	struct {
		const char *start, *end;
	} object[NR_FORMS];
};

extern const struct builtin builtins[];
extern const unsigned int nr_builtins;

/* NULL: no scheduler of this name comes with the command. */
const struct builtin *builtin_find(const char *name);

#define MPS_INCBIN(sym, path)                                    \
	asm(".pushsection .rodata\n.balign 16\n" #sym ":\n"      \
	    ".incbin \"" path "\"\n" #sym "_end:\n.popsection"); \
	extern const char sym[], sym##_end[];

#define MPS_EMBED(id, send_form, pre615)       \
	MPS_INCBIN(mps_object_##id, send_form) \
	MPS_INCBIN(mps_object_pre615_##id, pre615)

#define MPS_BUILTIN(id)                                                                          \
	{                                                                                        \
		.name = "bpf_" #id, .object = {                                                  \
			[FORM_SEND] = { mps_object_##id, mps_object_##id##_end },                \
			[FORM_PRE615] = { mps_object_pre615_##id, mps_object_pre615_##id##_end } \
		}                                                                                \
	}

#endif /* MPS_BUILTIN_H */
