// SPDX-License-Identifier: GPL-2.0
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "out.h"

#define MAX_COLS 24

static bool as_json, on_one_line;
static out_t *root;

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

void out_str(out_t *obj, const char *key, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	json_object_object_add(obj, key, json_object_new_string(text));
	free(text);
}

void out_num(out_t *obj, const char *key, uint64_t value)
{
	json_object_object_add(obj, key, json_object_new_uint64(value));
}

void out_flag(out_t *obj, const char *key, bool value)
{
	json_object_object_add(obj, key, json_object_new_boolean(value));
}

void out_null(out_t *obj, const char *key)
{
	json_object_object_add(obj, key, NULL);
}

out_t *out_obj(out_t *obj, const char *key)
{
	out_t *o = json_object_new_object();

	json_object_object_add(obj, key, o);
	return o;
}

out_t *out_list(out_t *obj, const char *key)
{
	out_t *list = json_object_object_get(obj, key);

	if (!list) {
		list = json_object_new_array();
		json_object_object_add(obj, key, list);
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

/* Into buf where the value is not a string itself. */
static const char *cell(out_t *value, char *buf, size_t size)
{
	size_t i, n, at = 0;

	switch (json_object_get_type(value)) {
	case json_type_null:
		return "-";
	case json_type_boolean:
		return json_object_get_boolean(value) ? "yes" : "no";
	case json_type_array:
		n = json_object_array_length(value);
		if (!n)
			return "-";
		*buf = '\0';
		for (i = 0; i < n && at < size; i++)
			at += (size_t)snprintf(
				buf + at, size - at, "%s%s", i ? "," : "",
				json_object_get_string(json_object_array_get_idx(value, i)));
		return buf;
	default:
		return json_object_get_string(value);
	}
}

static void print_cell(const char *text, int width, bool right, bool last)
{
	if (last && !right)
		printf("%s", text);
	else
		printf("%*s", right ? width : -width, text);
	printf("%s", last ? "\n" : "  ");
}

void out_table(out_t *list, const struct out_col *cols, const char *indent)
{
	size_t row, rows = json_object_array_length(list);
	int width[MAX_COLS], n = 0, c;
	char buf[1024];

	if (as_json)
		return;
	for (; cols[n].head && n < MAX_COLS; n++)
		width[n] = (int)strlen(cols[n].head);
	for (row = 0; row < rows; row++) {
		for (c = 0; c < n; c++) {
			out_t *v = out_at(json_object_array_get_idx(list, row), cols[c].key);
			int len = (int)strlen(cell(v, buf, sizeof(buf)));

			width[c] = len > width[c] ? len : width[c];
		}
	}
	fputs(indent, stdout);
	for (c = 0; c < n; c++)
		print_cell(cols[c].head, width[c], cols[c].right, c == n - 1);
	for (row = 0; row < rows; row++) {
		fputs(indent, stdout);
		for (c = 0; c < n; c++) {
			out_t *v = out_at(json_object_array_get_idx(list, row), cols[c].key);

			print_cell(cell(v, buf, sizeof(buf)), width[c], cols[c].right, c == n - 1);
		}
	}
}

void out_line(const char *fmt, ...)
{
	va_list ap;

	if (as_json)
		return;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
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
		printf("note: %s\n", text);
}
