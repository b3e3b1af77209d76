// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>
#include "cli/text.h"
#include "cli/util.h"

/* U+FFFD, what stands for bytes that are no character */
#define REPLACEMENT "\xef\xbf\xbd"

/* The least number that takes so many bytes: a longer form of a smaller one is no UTF-8. */
static const unsigned int least[] = { 0, 0, 0x80, 0x800, 0x10000 };

static unsigned int length_of(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first < 0xe0)
		return 2;
	if (first >= 0xe0 && first < 0xf0)
		return 3;
	return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

unsigned int text_char(const char *text, unsigned int *code)
{
	const unsigned char first = (unsigned char)*text;
	const unsigned int len = length_of(first);
	unsigned int i;

	*code = len > 1 ? first & (0x7fU >> len) : first;
	for (i = 1; i < len; i++) {
		/* the NUL at its end is none of these either */
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | ((unsigned char)text[i] & 0x3f);
	}
	if (len && (*code < least[len] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000)))
		return 0;
	return len;
}

/*
 * Controls of ASCII and those above, and what turns the direction of the text behind it. U+FFFD
 * stood for bytes already, which are "?" elsewhere.
 */
static bool is_obeyed(unsigned int code)
{
	return code < ' ' || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
	       (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069) || code == 0xfffd;
}

char *text_plain(char *text, bool lines)
{
	char *to = text;
	const char *from = text;

	while (*from) {
		unsigned int code, len = text_char(from, &code);

		if (!len || (is_obeyed(code) && !(lines && (code == '\n' || code == '\t')))) {
			*to++ = '?';
			from += len ? len : 1;
			continue;
		}
		memmove(to, from, len);
		to += len;
		from += len;
	}
	*to = '\0';
	return text;
}

int text_width(const char *text)
{
	int n = 0;

	/* 10xxxxxx goes on with a character */
	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static size_t count_bad(const char *text)
{
	size_t bad = 0;

	while (*text) {
		unsigned int code, len = text_char(text, &code);

		bad += !len;
		text += len ? len : 1;
	}
	return bad;
}

const char *text_utf8(const char *text, char **copy)
{
	const size_t bad = count_bad(text);
	char *to;

	*copy = NULL;
	if (!bad)
		return text;
	*copy = to = malloc(strlen(text) + bad * (strlen(REPLACEMENT) - 1) + 1);
	if (!to)
		out_of_memory();
	while (*text) {
		unsigned int code, len = text_char(text, &code);

		memcpy(to, len ? text : REPLACEMENT, len ? len : strlen(REPLACEMENT));
		to += len ? len : strlen(REPLACEMENT);
		text += len ? len : 1;
	}
	*to = '\0';
	return *copy;
}
