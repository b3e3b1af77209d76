// SPDX-License-Identifier: GPL-2.0
#include <stdint.h>
#include <string.h>
#include "cli/json_print.h"

/* On its way to the file: a call of stdio for each token would be a good part of the work. */
struct text {
	FILE *f;
	size_t len;
	char buf[8192];
};

static void flush(struct text *t)
{
	fwrite(t->buf, 1, t->len, t->f);
	t->len = 0;
}

static void put(struct text *t, const char *text, size_t len)
{
	if (len > sizeof(t->buf) - t->len)
		flush(t);
	if (len > sizeof(t->buf)) {
		fwrite(text, 1, len, t->f);
		return;
	}
	memcpy(t->buf + t->len, text, len);
	t->len += len;
}

static void put_char(struct text *t, char c)
{
	put(t, &c, 1);
}

/* 0x7f and U+0080 to U+009F: JSON allows them as they are, but a terminal obeys them. */
static unsigned int terminals_control(const unsigned char *at)
{
	if (*at == 0x7f)
		return 0x7f;
	return at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0 ? at[1] : 0;
}

static void print(struct text *t, struct json_object *value);

static void print_string(struct text *t, const char *text, size_t len)
{
	const char *end = text + len, *from = text;
	char escape[8];

	put_char(t, '"');
	for (; text < end; text++) {
		const unsigned char c = (unsigned char)*text;
		const unsigned int control = terminals_control((const unsigned char *)text);

		if (c >= ' ' && c != '"' && c != '\\' && !control)
			continue;
		put(t, from, (size_t)(text - from));
		text += control > 0x7f;
		from = text + 1;
		snprintf(escape, sizeof(escape), c < ' ' || control ? "\\u%04x" : "\\%c",
			 control ? control : c);
		put(t, escape, strlen(escape));
	}
	put(t, from, (size_t)(end - from));
	put_char(t, '"');
}

static void print_number(struct text *t, uint64_t n)
{
	char text[24], *at = text + sizeof(text);

	do {
		*--at = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	put(t, at, (size_t)(text + sizeof(text) - at));
}

static void print_object(struct text *t, struct json_object *value)
{
	char lead = '{';

	json_object_object_foreach(value, key, member) {
		put_char(t, lead);
		lead = ',';
		/* a literal of ours, with nothing in it to be escaped */
		put_char(t, '"');
		put(t, key, strlen(key));
		put(t, "\":", 2);
		print(t, member);
	}
	if (lead == '{')
		put_char(t, '{');
	put_char(t, '}');
}

static void print_array(struct text *t, struct json_object *value)
{
	size_t i, n = json_object_array_length(value);

	put_char(t, '[');
	for (i = 0; i < n; i++) {
		if (i)
			put_char(t, ',');
		print(t, json_object_array_get_idx(value, i));
	}
	put_char(t, ']');
}

static void print(struct text *t, struct json_object *value)
{
	const char *text;

	switch (json_object_get_type(value)) {
	case json_type_object:
		print_object(t, value);
		break;
	case json_type_array:
		print_array(t, value);
		break;
	case json_type_string:
		print_string(t, json_object_get_string(value),
			     (size_t)json_object_get_string_len(value));
		break;
	case json_type_int:
		/* what a command counts is never negative */
		print_number(t, json_object_get_uint64(value));
		break;
	default:
		text = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);
		put(t, text, strlen(text));
		break;
	}
}

void json_print(FILE *f, struct json_object *value)
{
	struct text t;

	t.f = f;
	t.len = 0;
	print(&t, value);
	flush(&t);
}

void json_put_text(FILE *f, const char *text)
{
	for (; *text; text++) {
		const unsigned int control = terminals_control((const unsigned char *)text);

		if (control)
			fprintf(f, "\\u%04x", control);
		else
			fputc(*text, f);
		text += control > 0x7f;
	}
}
