// SPDX-License-Identifier: GPL-2.0
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/json_print.h"
#include "cli/output.h"
#include "cli/text.h"
#include "cli/util.h"

static bool as_json, on_one_line;
static output_t *root;
static FILE *file;
static unsigned int streamed;

void output_setup(bool json, bool one_line)
{
	as_json = json;
	on_one_line = one_line;
}

bool output_is_json(void)
{
	return as_json;
}

output_t *output_root(void)
{
	if (!root)
		root = json_object_new_object();
	return root;
}

void output_into(FILE *other)
{
	file = other;
}

FILE *output_sink(void)
{
	return file ? file : stdout;
}

/* The members of the root one by one, each followed by a comma or led by one. */
static void print_members(bool lead)
{
	const char *gap = on_one_line ? "" : "\n  ";

	json_object_object_foreach(output_root(), key, value) {
		fprintf(output_sink(), "%s%s\"%s\":%s", lead ? "," : "", gap, key,
			on_one_line ? "" : " ");
		json_print(output_sink(), value);
		if (!lead)
			fputc(',', output_sink());
	}
	json_object_put(root);
	root = NULL;
}

void output_stream_begin(const char *key)
{
	streamed = 0;
	if (!as_json)
		return;
	fputc('{', output_sink());
	print_members(false);
	fprintf(output_sink(), on_one_line ? "\"%s\":[" : "\n  \"%s\": [", key);
}

void output_stream_item(output_t *item)
{
	if (as_json) {
		fprintf(output_sink(), "%s%s", streamed++ ? "," : "", on_one_line ? "" : "\n    ");
		json_print(output_sink(), item);
	}
	json_object_put(item);
}

void output_stream_end(void)
{
	if (as_json) {
		fputs(!on_one_line && streamed ? "\n  ]" : "]", output_sink());
		print_members(true);
		fputs(on_one_line ? "}\n" : "\n}\n", output_sink());
	}
	json_object_put(root);
	root = NULL;
	fflush(output_sink());
}

void output_finish(void)
{
	int style = on_one_line ? JSON_C_TO_STRING_PLAIN
				: JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED;

	style |= JSON_C_TO_STRING_NOSLASHESCAPE;
	if (as_json)
		json_put_text(output_sink(), json_object_to_json_string_ext(output_root(), style));
	if (as_json)
		fputc('\n', output_sink());
	fflush(output_sink());
	output_forget();
}

void output_forget(void)
{
	json_object_put(root);
	root = NULL;
}

/* Every key here is a literal: no copy of it. */
static void add(output_t *obj, const char *key, output_t *value)
{
	json_object_object_add_ex(obj, key, value, JSON_C_OBJECT_ADD_CONSTANT_KEY);
}

/* JSON is UTF-8, whatever the text is. */
static output_t *new_string(const char *text)
{
	char *copy;
	output_t *o = json_object_new_string(text_utf8(text, &copy));

	free(copy);
	return o;
}

void output_str(output_t *obj, const char *key, const char *fmt, ...)
{
	char text[512], *more = NULL;
	va_list ap;
	int len;

	if (!obj)
		return;
	va_start(ap, fmt);
	/* most are, and lists are long */
	if (!strcmp(fmt, "%s")) {
		add(obj, key, new_string(va_arg(ap, const char *)));
		va_end(ap);
		return;
	}
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (len >= (int)sizeof(text)) {
		va_start(ap, fmt);
		len = vasprintf(&more, fmt, ap);
		va_end(ap);
	}
	if (len >= 0)
		add(obj, key, new_string(more ? more : text));
	free(more);
}

void output_num(output_t *obj, const char *key, uint64_t value)
{
	if (obj)
		add(obj, key, json_object_new_uint64(value));
}

void output_real(output_t *obj, const char *key, double value, int decimals)
{
	char text[64];

	if (!obj)
		return;
	snprintf(text, sizeof(text), "%.*f", decimals, value);
	add(obj, key, json_object_new_double_s(value, text));
}

void output_flag(output_t *obj, const char *key, bool value)
{
	if (obj)
		add(obj, key, json_object_new_boolean(value));
}

void output_null(output_t *obj, const char *key)
{
	if (obj)
		add(obj, key, NULL);
}

output_t *output_obj(output_t *obj, const char *key)
{
	output_t *o = obj ? json_object_new_object() : NULL;

	if (o)
		add(obj, key, o);
	return o;
}

output_t *output_list(output_t *obj, const char *key)
{
	output_t *list = json_object_object_get(obj, key);

	if (obj && !list) {
		list = json_object_new_array();
		add(obj, key, list);
	}
	return list;
}

output_t *output_item(output_t *list)
{
	output_t *o = json_object_new_object();

	json_object_array_add(list, o);
	return o;
}

void output_count(output_t *list, uint64_t value)
{
	if (list)
		json_object_array_add(list, json_object_new_uint64(value));
}

void output_word(output_t *list, const char *text)
{
	if (list)
		json_object_array_add(list, new_string(text));
}

output_t *output_at(output_t *o, const char *path)
{
	const char *dot = strchr(path, '.');
	char key[64];

	snprintf(key, sizeof(key), "%.*s", (int)(dot ? dot - path : (long)strlen(path)), path);
	if (json_object_is_type(o, json_type_array))
		o = json_object_array_get_idx(o, strtoul(key, NULL, 10));
	else
		o = json_object_is_type(o, json_type_object) ? json_object_object_get(o, key)
							     : NULL;
	return o && dot ? output_at(o, dot + 1) : o;
}

const char *rate_text(double bytes_per_s, char *buf, size_t size)
{
	static const char *const units[] = { "B/s", "kB/s", "MB/s", "GB/s", "TB/s" };
	unsigned int i = 0;

	while (bytes_per_s >= 999.5 && i < sizeof(units) / sizeof(units[0]) - 1) {
		bytes_per_s /= 1000;
		i++;
	}
	snprintf(buf, size, "%.*f %s", !i || bytes_per_s >= 99.95 ? 0 : 1, bytes_per_s, units[i]);
	return buf;
}

/* A line feed within what it is made of is no new line; one at the format's beginning is. */
static void print_plain(const char *fmt, va_list ap)
{
	char *text;

	for (; *fmt == '\n'; fmt++)
		fputc('\n', output_sink());
	if (vasprintf(&text, fmt, ap) < 0)
		out_of_memory();
	fputs(text_plain(text, false), output_sink());
	free(text);
}

void output_line(const char *fmt, ...)
{
	va_list ap;

	if (as_json)
		return;
	va_start(ap, fmt);
	print_plain(fmt, ap);
	va_end(ap);
	fputc('\n', output_sink());
}

void output_text(const char *fmt, ...)
{
	va_list ap;

	if (as_json)
		return;
	va_start(ap, fmt);
	print_plain(fmt, ap);
	va_end(ap);
}

void output_note(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	output_word(output_list(output_root(), "notes"), text);
	output_line("note: %s", text);
}
