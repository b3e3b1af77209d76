// SPDX-License-Identifier: GPL-2.0
/*
 * A scheduler's object file as `load FILE.o` opens it (loader/sched/object.c): the ELF file is any,
 * most of it is libbpf's to read. The corpus begins with objects of this build. Claims: what is
 * taken has a name, and each of its tunables a value that can be read and written.
 */
#include <bpf/libbpf.h>
#include "said.h"
#include "sched/object.h"

/* None comes with it. */
const struct builtin builtins[1];
const unsigned int nr_builtins;

static struct memory file;

static void use(struct object *o)
{
	char setting[300], value[32];
	unsigned int i;
	enum exit_code ret;

	claim(o->ops && *o->name && strnlen(o->name, MPS_NAME_LEN) < MPS_NAME_LEN, "a name");
	claim(o->about, "a text, if none other than an empty one");
	for (i = 0; i < o->tunables.nr; i++) {
		const struct tunable *t = &o->tunables.t[i];

		tunable_value_format(t, t->max, value, sizeof(value));
		snprintf(setting, sizeof(setting), "%.200s=%s", t->name, value);
		said_begin(false);
		ret = object_set(o, setting);
		said_end(ret);
		if (ret == EX_OK && strlen(t->name) < 200)
			claim(tunable_table_find(&o->tunables, t->name, strlen(t->name)) != t ||
				      object_value(o, t) == t->max,
			      "what is set is there");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const enum form form = size && data[size - 1] & 1 ? FORM_PRE615 : FORM_SEND;
	const bool json = size && data[size - 1] & 2;
	struct object o;
	enum exit_code ret;

	memory_set(&file, data, size);
	said_begin(json);
	ret = object_open_file(&o, file.path, form);
	said_end(ret);
	if (ret != EX_OK)
		return 0;
	use(&o);
	object_close(&o);
	return 0;
}
