// SPDX-License-Identifier: GPL-2.0
#include <stdint.h>
#include <string.h>
#include <gelf.h>
#include <bpf/btf.h>
#include "sched/elfcheck.h"

/* Two numbers up to this add up in 32 bits. */
#define MOST INT32_MAX

static bool symbols_are_damaged(Elf_Data *data, size_t entry_size)
{
	const size_t nr = entry_size ? data->d_size / entry_size : 0;
	GElf_Sym sym;
	size_t i;

	for (i = 0; i < nr; i++)
		if (gelf_getsym(data, (int)i, &sym) && sym.st_shndx < SHN_LORESERVE &&
		    sym.st_value > MOST)
			return true;
	return false;
}

static bool type_is_damaged(const struct btf_type *t)
{
	const struct btf_var_secinfo *info = btf_var_secinfos(t);
	unsigned int i;

	if (btf_is_composite(t))
		return t->size > MOST;
	if (!btf_is_datasec(t))
		return false;
	for (i = 0; i < btf_vlen(t); i++)
		if (info[i].offset > MOST)
			return true;
	return false;
}

static bool types_are_damaged(Elf_Data *data)
{
	struct btf *btf = btf__new(data->d_buf, (__u32)data->d_size);
	bool damaged = false;
	__u32 id;

	for (id = 1; btf && !damaged && id < btf__type_cnt(btf); id++)
		damaged = type_is_damaged(btf__type_by_id(btf, id));
	btf__free(btf);
	return damaged;
}

static bool section_is_damaged(Elf *elf, Elf_Scn *scn, size_t names)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Shdr header;
	const char *name;

	if (!data || !data->d_buf || !gelf_getshdr(scn, &header))
		return false;
	if (header.sh_type == SHT_SYMTAB)
		return symbols_are_damaged(data, header.sh_entsize);
	name = elf_strptr(elf, names, header.sh_name);
	return name && !strcmp(name, BTF_ELF_SEC) && types_are_damaged(data);
}

bool elf_is_damaged(char *text, size_t len)
{
	Elf *elf = elf_version(EV_CURRENT) != EV_NONE ? elf_memory(text, len) : NULL;
	Elf_Scn *scn = NULL;
	bool damaged = false;
	size_t names;

	if (elf && !elf_getshdrstrndx(elf, &names))
		while (!damaged && (scn = elf_nextscn(elf, scn)))
			damaged = section_is_damaged(elf, scn, names);
	elf_end(elf);
	return damaged;
}
