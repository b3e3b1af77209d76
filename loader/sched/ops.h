/* SPDX-License-Identifier: GPL-2.0 */
/* Variables of a struct_ops type in an object, before it is loaded. */
#ifndef MPS_OPS_H
#define MPS_OPS_H

#include "kernel/kern.h"

struct bpf_object;
struct bpf_map;

/* map: of the last one; NULL: libbpf made none of it */
struct ops_found {
	unsigned int nr;
	struct bpf_map *map;
	__u32 type; /* its struct, of the object's BTF */
};

/*
 * Those of struct NAME, or NAME___FLAVOUR as libbpf takes it, in sections .struct_ops and
 * ?.struct_ops. form: only those whose struct has this form's hook; NR_FORMS: any.
 */
struct ops_found ops_find(const struct bpf_object *bpf, const char *struct_name, enum form form);
/* The same, but for this one: the kernel is not asked for them. */
void ops_leave_out(const struct bpf_object *bpf, const char *struct_name,
		   const struct bpf_map *but);
/* Its member "name", at most MPS_NAME_LEN - 1 bytes; "" where it has none. */
void ops_name(const struct bpf_object *bpf, const struct ops_found *f, char *name);

#endif /* MPS_OPS_H */
