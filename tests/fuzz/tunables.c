// SPDX-License-Identifier: GPL-2.0
/*
 * What an object says of its tunables, in BTF declaration tags, and the settings that a user gives.
 * BTF is made here of variables with any tags and places, or is the input itself. Claims: what is
 * taken has a range and a scale, a setting is within it, and what is printed is read as the same.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "said.h"
#include "sched/tunable_table.h"

#define MAX_TEXT 120
#define MAX_VARS 12
#define TAG "mps:tunable:"

/* Up to a NUL or the end. */
static const char *take_text(struct draw *d, char *buf, size_t size)
{
	size_t n = 0;
	char c;

	while (draw_more(d) && (c = (char)draw_byte(d)))
		if (n + 1 < size)
			buf[n++] = c;
	buf[n] = '\0';
	return buf;
}

/* One section with some of the variables, in places that may overlap or lie outside. */
static void add_section(struct draw *d, struct btf *btf, const char *name, int first, int nr)
{
	int i;

	btf__add_datasec(btf, name, draw_byte(d));
	for (i = 0; i < nr; i++) {
		const uint8_t how = draw_byte(d);

		if (!(how & 1))
			btf__add_datasec_var_info(btf, first + i, draw_byte(d),
						  how & 2 ? how >> 2 : 4);
	}
}

static void add_tags(struct draw *d, struct btf *btf)
{
	const int last = (int)btf__type_cnt(btf);
	char tag[sizeof(TAG) + MAX_TEXT] = TAG;
	int id;

	for (id = 1; id < last; id++) {
		const uint8_t how = draw_byte(d);

		if (how & 1 && !btf_is_var(btf__type_by_id(btf, (__u32)id)))
			continue;
		take_text(d, tag + (how & 2 ? 0 : strlen(TAG)), MAX_TEXT);
		btf__add_decl_tag(btf, tag, id, how & 4 ? (how >> 3) - 1 : -1);
		memcpy(tag, TAG, strlen(TAG));
	}
}

static struct btf *make_btf(struct draw *d)
{
	struct btf *btf = btf__new_empty();
	const int number = btf__add_int(btf, "unsigned int", 4, 0);
	const int nr = 1 + draw_byte(d) % MAX_VARS;
	char name[MAX_TEXT];
	int i, first = 0;

	for (i = 0; i < nr; i++) {
		const int id = btf__add_var(btf, take_text(d, name, sizeof(name)),
					    BTF_VAR_GLOBAL_ALLOCATED, number);

		first = first ?: id;
	}
	if (first > 0) {
		add_section(d, btf, ".data", first, nr);
		add_section(d, btf, draw_bit(d) ? ".rodata" : ".bss", first, nr);
	}
	add_tags(d, btf);
	return btf;
}

static void check_tunable(const struct tunable *t)
{
	claim(t->name && t->text, "it has a name and a text");
	claim(t->min <= t->max, "a range");
	claim(t->scale && t->scale <= 1000000, "a scale");
	claim(t->section < NR_TUNABLE_SECTIONS, "a place");
}

static void check_value(const struct tunable *t, __u32 value)
{
	char text[32];
	__u32 again = ~value;

	claim(value >= t->min && value <= t->max, "a setting within its range");
	tunable_value_format(t, value, text, sizeof(text));
	if (1000000 % t->scale)
		return;
	claim(!tunable_value_parse(t, text, &again), "what is printed can be set");
	claim(again == value, "to the same");
}

static void set(struct draw *d, const struct tunable_table *ts)
{
	const bool json = draw_bit(d);
	const char *word[4];
	char text[4][300];
	const struct tunable *t;
	unsigned int i, nr = draw_byte(d) % 4;
	enum exit_code ret;
	__u32 value = 0;

	for (i = 0; i < nr; i++)
		word[i] = take_text(d, text[i], sizeof(text[i]));
	said_begin(json);
	ret = tunable_table_check_words(EX_USAGE, word, nr);
	said_end(ret);
	claim(ret == EX_OK || ret == EX_USAGE, "words are usage");
	for (i = 0; ret == EX_OK && i < nr; i++) {
		said_begin(json);
		ret = tunable_table_parse(ts, word[i], &t, &value);
		said_end(ret);
		if (ret == EX_OK)
			check_value(t, value);
	}
}

/* Of libbpf's own there is much that is not for here. */
static int no_print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct draw d = { data, data + size };
	const uint8_t how = draw_byte(&d);
	struct tunable_table ts;
	struct btf *btf;
	char hint[512];
	enum exit_code ret;
	unsigned int i;

	libbpf_set_print(no_print);
	btf = how & 1 ? btf__new(d.at, (__u32)(d.end - d.at)) : make_btf(&d);
	if (!btf)
		return 0;
	said_begin(how & 2);
	ret = tunable_table_read(&ts, btf);
	said_end(ret);
	for (i = 0; i < ts.nr; i++)
		check_tunable(&ts.t[i]);
	tunable_table_describe(&ts, hint, sizeof(hint));
	claim(memchr(hint, '\0', sizeof(hint)), "a hint has an end");
	if (ret == EX_OK && !(how & 1))
		set(&d, &ts);
	tunable_table_free(&ts);
	btf__free(btf);
	return 0;
}
