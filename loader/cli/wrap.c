// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>
#include "cli/text.h"
#include "cli/util.h"
#include "cli/wrap.h"

#define INDENT 4
/* Narrower ones have no room for an indent. */
#define WIDE 20

static unsigned int char_len(const char *at)
{
	unsigned int code, len = text_char(at, &code);

	return len ? len : 1;
}

/* Where to break what is wider than that, in bytes; 0: nowhere but within a word. */
static unsigned int find_break(const char *at, unsigned int len, unsigned int cols)
{
	unsigned int i = strspn(at, " "), col = i, space = 0, gap = 0;

	/* a space right behind the last column is a good place, too */
	for (; i < len && col <= cols; i += char_len(at + i), col++) {
		if (at[i] != ' ' || at[i - 1] == ' ')
			continue;
		space = i;
		if (at[i + 1] == ' ')
			gap = i;
	}
	/* two spaces stand between fields, one within */
	return gap ? gap : space;
}

static unsigned int bytes_of(const char *at, unsigned int len, unsigned int cols)
{
	unsigned int i;

	for (i = 0; i < len && cols; cols--)
		i += char_len(at + i);
	return i;
}

static bool fits(const char *at, unsigned int len, unsigned int cols)
{
	return bytes_of(at, len, cols) >= len;
}

static void add(struct wrapped *w, const char *at, unsigned int len, bool goes_on, bool cut)
{
	w->line = grow(w->line, w->nr, sizeof(*w->line));
	w->line[w->nr++] =
		(struct wrap_line){ .at = at, .len = len, .goes_on = goes_on, .cut = cut };
}

static void wrap_line(struct wrapped *w, const char *at, unsigned int len, unsigned int cols)
{
	bool goes_on = false;

	while (!fits(at, len, cols)) {
		unsigned int n = find_break(at, len, cols);
		const bool cut = !n;

		if (cut)
			n = bytes_of(at, len, cols - 1);
		add(w, at, n, goes_on, cut);
		while (!cut && n < len && at[n] == ' ')
			n++;
		at += n;
		len -= n;
		cols -= goes_on ? 0 : w->indent;
		goes_on = true;
	}
	if (len || !goes_on)
		add(w, at, len, goes_on, false);
}

void wrap(struct wrapped *w, const char *text, unsigned int cols)
{
	memset(w, 0, sizeof(*w));
	w->indent = cols >= WIDE ? INDENT : 0;
	while (*text) {
		const unsigned int len = (unsigned int)strcspn(text, "\n");

		wrap_line(w, text, len, cols);
		text += len;
		text += *text == '\n';
	}
}

void wrap_crop(struct wrapped *w, unsigned int nr)
{
	struct wrap_line *last;

	if (w->nr <= nr)
		return;
	w->nr = nr;
	last = nr ? &w->line[nr - 1] : NULL;
	if (!last || last->cut)
		return;
	/* room for the mark */
	while (last->len && (last->at[--last->len] & 0xc0) == 0x80)
		;
	last->cut = true;
}

void wrap_print(const struct wrapped *w, unsigned int line, FILE *f)
{
	const struct wrap_line *l = &w->line[line];

	if (l->goes_on)
		fprintf(f, "%*s", (int)w->indent, "");
	fwrite(l->at, 1, l->len, f);
	if (l->cut)
		fputc(WRAP_MARK, f);
}

void wrap_free(struct wrapped *w)
{
	free(w->line);
	memset(w, 0, sizeof(*w));
}
