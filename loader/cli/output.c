// SPDX-License-Identifier: GPL-2.0
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "json_print.h"
#include "out.h"
#include "util.h"

#define MAX_COLS 24

/* A list in a cell: more than these are only counted. */
#define MAX_LISTED 8
#define BAR_WIDTH 20

static bool as_json, on_one_line;
static out_t *root;
static FILE *file;
static unsigned int streamed;

void out_setup(bool json, bool one_line)
{
	as_json = json;
	on_one_line = one_line;
}

bool out_is_json(void)
{
	return as_json;
}

out_t *out_root(void)
{
	if (!root)
		root = json_object_new_object();
	return root;
}

void out_into(FILE *other)
{
	file = other;
}

static FILE *sink(void)
{
	return file ? file : stdout;
}

/* The members of the root one by one, each followed by a comma or led by one. */
static void print_members(bool lead)
{
	const char *gap = on_one_line ? "" : "\n  ";

	json_object_object_foreach(out_root(), key, value) {
		printf("%s%s\"%s\":%s", lead ? "," : "", gap, key, on_one_line ? "" : " ");
		json_print(stdout, value);
		if (!lead)
			putchar(',');
	}
	json_object_put(root);
	root = NULL;
}

void out_stream_begin(const char *key)
{
	streamed = 0;
	if (!as_json)
		return;
	putchar('{');
	print_members(false);
	printf(on_one_line ? "\"%s\":[" : "\n  \"%s\": [", key);
}

void out_stream_item(out_t *item)
{
	if (as_json) {
		printf("%s%s", streamed++ ? "," : "", on_one_line ? "" : "\n    ");
		json_print(stdout, item);
	}
	json_object_put(item);
}

void out_stream_end(void)
{
	if (as_json) {
		printf(!on_one_line && streamed ? "\n  ]" : "]");
		print_members(true);
		printf(on_one_line ? "}\n" : "\n}\n");
	}
	json_object_put(root);
	root = NULL;
	fflush(sink());
}

void out_finish(void)
{
	int style = on_one_line ? JSON_C_TO_STRING_PLAIN
				: JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED;

	style |= JSON_C_TO_STRING_NOSLASHESCAPE;
	if (as_json)
		printf("%s\n", json_object_to_json_string_ext(out_root(), style));
	fflush(stdout);
	out_forget();
}

void out_forget(void)
{
	json_object_put(root);
	root = NULL;
}

/* Every key here is a literal: no copy of it. */
static void add(out_t *obj, const char *key, out_t *value)
{
	json_object_object_add_ex(obj, key, value, JSON_C_OBJECT_ADD_CONSTANT_KEY);
}

void out_str(out_t *obj, const char *key, const char *fmt, ...)
{
	char text[512], *more = NULL;
	va_list ap;
	int len;

	if (!obj)
		return;
	va_start(ap, fmt);
	/* most are, and lists are long */
	if (!strcmp(fmt, "%s")) {
		add(obj, key, json_object_new_string(va_arg(ap, const char *)));
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
		add(obj, key, json_object_new_string_len(more ? more : text, len));
	free(more);
}

void out_num(out_t *obj, const char *key, uint64_t value)
{
	if (obj)
		add(obj, key, json_object_new_uint64(value));
}

void out_real(out_t *obj, const char *key, double value, int decimals)
{
	char text[64];

	if (!obj)
		return;
	snprintf(text, sizeof(text), "%.*f", decimals, value);
	add(obj, key, json_object_new_double_s(value, text));
}

void out_flag(out_t *obj, const char *key, bool value)
{
	if (obj)
		add(obj, key, json_object_new_boolean(value));
}

void out_null(out_t *obj, const char *key)
{
	if (obj)
		add(obj, key, NULL);
}

out_t *out_obj(out_t *obj, const char *key)
{
	out_t *o = obj ? json_object_new_object() : NULL;

	if (o)
		add(obj, key, o);
	return o;
}

out_t *out_list(out_t *obj, const char *key)
{
	out_t *list = json_object_object_get(obj, key);

	if (obj && !list) {
		list = json_object_new_array();
		add(obj, key, list);
	}
	return list;
}

out_t *out_item(out_t *list)
{
	out_t *o = json_object_new_object();

	json_object_array_add(list, o);
	return o;
}

void out_word(out_t *list, const char *text)
{
	if (list)
		json_object_array_add(list, json_object_new_string(text));
}

out_t *out_at(out_t *o, const char *path)
{
	const char *dot = strchr(path, '.');
	char key[64];

	snprintf(key, sizeof(key), "%.*s", (int)(dot ? dot - path : (long)strlen(path)), path);
	if (json_object_is_type(o, json_type_array))
		o = json_object_array_get_idx(o, strtoul(key, NULL, 10));
	else
		o = json_object_is_type(o, json_type_object) ? json_object_object_get(o, key)
							     : NULL;
	return o && dot ? out_at(o, dot + 1) : o;
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

static const char *bar(double share, char *buf, size_t size)
{
	const int full = (int)(share * BAR_WIDTH + 0.5);

	snprintf(buf, size, "[%.*s%.*s] %3.0f %%", full, "####################", BAR_WIDTH - full,
		 "....................", share * 100);
	return buf;
}

static const char *list_text(out_t *list, char *buf, size_t size)
{
	size_t i, n = json_object_array_length(list), at = 0;

	if (!n)
		return "-";
	*buf = '\0';
	for (i = 0; i < n && i < MAX_LISTED && at < size; i++)
		at += (size_t)snprintf(buf + at, size - at, "%s%s", i ? "," : "",
				       json_object_get_string(json_object_array_get_idx(list, i)));
	if (n > MAX_LISTED && at < size)
		snprintf(buf + at, size - at, ",... (%zu)", n);
	return buf;
}

/* Into buf where the value is not a string itself. */
static const char *cell(out_t *value, unsigned int how, char *buf, size_t size)
{
	if (value && how == OUT_RATE)
		return rate_text(json_object_get_double(value), buf, size);
	if (value && how == OUT_BAR)
		return bar(json_object_get_double(value), buf, size);
	switch (json_object_get_type(value)) {
	case json_type_null:
		return "-";
	case json_type_boolean:
		return json_object_get_boolean(value) ? "yes" : "no";
	case json_type_array:
		return list_text(value, buf, size);
	case json_type_int:
		snprintf(buf, size, "%" PRIu64, json_object_get_uint64(value));
		return buf;
	default:
		return json_object_get_string(value);
	}
}

static void print_cell(const char *text, int width, unsigned int how, bool last)
{
	const bool right = how == OUT_RIGHT || how == OUT_RATE;
	int pad = width - (int)strlen(text);

	for (; right && pad > 0; pad--)
		fputc(' ', sink());
	fputs(text, sink());
	for (; !last && pad > 0; pad--)
		fputc(' ', sink());
	fputs(last ? "\n" : "  ", sink());
}

/* The text of each cell, row by row: what it takes to know how wide the columns are. */
static char **cells_of(out_t *list, const struct out_col *cols, int n, int *width)
{
	const size_t rows = json_object_array_length(list);
	char **cells = calloc(rows * (size_t)n + 1, sizeof(*cells)), buf[1024];
	size_t row;
	int c, len;

	if (!cells)
		out_of_memory();
	for (row = 0; row < rows; row++) {
		for (c = 0; c < n; c++) {
			out_t *v = out_at(json_object_array_get_idx(list, row), cols[c].key);
			char *text = strdup(cell(v, cols[c].how, buf, sizeof(buf)));

			if (!text)
				out_of_memory();
			len = (int)strlen(text);
			width[c] = len > width[c] ? len : width[c];
			cells[row * (size_t)n + (size_t)c] = text;
		}
	}
	return cells;
}

void out_table(out_t *list, const struct out_col *cols, const char *indent)
{
	size_t row, rows = json_object_array_length(list);
	int width[MAX_COLS], n = 0, c;
	char **cells, **text;

	if (as_json)
		return;
	for (; cols[n].head && n < MAX_COLS; n++)
		width[n] = (int)strlen(cols[n].head);
	cells = text = cells_of(list, cols, n, width);
	fputs(indent, sink());
	for (c = 0; c < n; c++)
		print_cell(cols[c].head, width[c], cols[c].how, c == n - 1);
	for (row = 0; row < rows; row++) {
		fputs(indent, sink());
		for (c = 0; c < n; c++, text++) {
			print_cell(*text, width[c], cols[c].how, c == n - 1);
			free(*text);
		}
	}
	free(cells);
}

void out_line(const char *fmt, ...)
{
	va_list ap;

	if (as_json)
		return;
	va_start(ap, fmt);
	vfprintf(sink(), fmt, ap);
	va_end(ap);
	fputc('\n', sink());
}

void out_text(const char *fmt, ...)
{
	va_list ap;

	if (as_json)
		return;
	va_start(ap, fmt);
	vfprintf(sink(), fmt, ap);
	va_end(ap);
}

void out_note(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	out_word(out_list(out_root(), "notes"), text);
	if (!as_json)
		fprintf(sink(), "note: %s\n", text);
}
