// SPDX-License-Identifier: GPL-2.0
/*
 * Are the kernel's structs as the module was built for? The version says little: a package's
 * next revision, a kernel of one's own or headers newer than the running kernel can move members
 * under the same release name. The running kernel's BTF says it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/btf.h>
#include <linux/slab.h>
#include <net/mptcp.h>
#include <net/tcp.h>
#include "bridge.h"
#include "kernel_private.h"
#include "layout.h"

/* A struct in a struct without a name, as deep as the kernel's are and a little more. */
#define MSB_MAX_DEPTH 4

MSB_HEADER_FIELDS(MSB_NO_FIELD, MSB_BIT_SETTER)
static const struct msb_field msb_header_fields[] = { MSB_HEADER_FIELDS(MSB_FIELD, MSB_BIT_FIELD) };

struct msb_place {
	u32 bit;
	u32 bytes; /* 0: a bit field, or of a type without a size */
};

static bool msb_is_modifier(const struct btf_type *t)
{
	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		return true;
	default:
		return false;
	}
}

static const struct btf_type *msb_real_type(const struct btf *btf, u32 id)
{
	const struct btf_type *t = btf_type_by_id(btf, id);

	while (t && msb_is_modifier(t))
		t = btf_type_by_id(btf, t->type);
	return t;
}

static u32 msb_type_bytes(const struct btf *btf, u32 id)
{
	const struct btf_type *t = msb_real_type(btf, id);
	u32 n = 1;

	while (t && btf_type_is_array(t)) {
		n *= btf_array(t)->nelems;
		t = msb_real_type(btf, btf_array(t)->type);
	}
	if (!t)
		return 0;
	return n * (btf_type_is_ptr(t) ? sizeof(void *) : t->size);
}

static bool msb_find_member(const struct btf *btf, const struct btf_type *t, const char *name,
			    struct msb_place *place, int depth)
{
	const struct btf_member *m;
	const struct btf_type *inner;
	const char *its_name;
	u32 i, bit;

	for (i = 0, m = btf_members(t); i < btf_type_vlen(t); i++, m++) {
		bit = place->bit + __btf_member_bit_offset(t, m);
		its_name = msb_call(btf_name_by_offset)(btf, m->name_off);
		if (its_name && *its_name) {
			if (strcmp(its_name, name))
				continue;
			place->bit = bit;
			place->bytes =
				__btf_member_bitfield_size(t, m) ? 0 : msb_type_bytes(btf, m->type);
			return true;
		}
		inner = msb_real_type(btf, m->type);
		if (inner && btf_type_is_struct(inner) && depth < MSB_MAX_DEPTH) {
			struct msb_place nested = { .bit = bit };

			if (msb_find_member(btf, inner, name, &nested, depth + 1)) {
				*place = nested;
				return true;
			}
		}
	}
	return false;
}

/* The lowest bit that set() sets; negative: an error. */
static int msb_bit_of(const struct msb_field *f)
{
	u8 *zeroed = kzalloc(f->size, GFP_KERNEL);
	unsigned int i;
	int bit = -EINVAL;

	if (!zeroed)
		return -ENOMEM;
	f->set(zeroed);
	for (i = 0; i < f->size && bit < 0; i++)
		if (zeroed[i])
			bit = 8 * i + __ffs(zeroed[i]);
	kfree(zeroed);
	return bit;
}

static int msb_check_field(const struct btf *btf, const struct msb_field *f)
{
	const s32 id = msb_call(btf_find_by_name_kind)(btf, f->type, BTF_KIND_STRUCT);
	const int bit = f->set ? msb_bit_of(f) : 8 * f->offset;
	struct msb_place place = {};

	if (bit < 0)
		return bit;
	if (id < 0 || !msb_find_member(btf, btf_type_by_id(btf, id), f->name, &place, 0)) {
		pr_err("this kernel's struct %s has no %s, which the module was built with: build it again for this kernel\n",
		       f->type, f->name);
		return -ENOEXEC;
	}
	if (place.bit == bit && (f->set || place.bytes == f->size))
		return 0;
	if (f->set)
		pr_err("layout of struct %s: %s expected at bit %d, found at bit %u: build the module again for this kernel\n",
		       f->type, f->name, bit, place.bit);
	else
		pr_err("layout of struct %s: %s expected at byte %u with %u bytes, found at byte %u with %u: build the module again for this kernel\n",
		       f->type, f->name, f->offset, f->size, place.bit / 8, place.bytes);
	return -ENOEXEC;
}

static int msb_check_fields(const struct btf *btf, const struct msb_field *f, unsigned int nr)
{
	int err = 0;

	while (nr-- && !err)
		err = msb_check_field(btf, f++);
	return err;
}

int msb_check_layout(const struct btf *vmlinux)
{
	return msb_check_fields(vmlinux, msb_private_fields, msb_nr_private_fields)
		       ?: msb_check_fields(vmlinux, msb_header_fields,
					   ARRAY_SIZE(msb_header_fields));
}
