// SPDX-License-Identifier: GPL-2.0
/* A list as an aligned table. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/output.h"
#include "cli/text.h"
#include "cli/util.h"

#define MAX_COLS 24

/* A list in a cell: more than these are only counted. */
#define MAX_LISTED 8
#define BAR_WIDTH 20
/* on a page that is narrower than that */
#define NARROW 120
#define SHORT_BAR_WIDTH 8
#define LEAST_NUMBER 6

/* Between columns */
#define GAP 2

static struct {
	unsigned int cols, sheet, sheets;
	/* of the tables since: what was not shown */
	const struct output_col *heads;
	bool left_out[MAX_COLS];
} page;

void output_fit(unsigned int cols, unsigned int sheet)
{
	memset(&page, 0, sizeof(page));
	page.cols = cols;
	page.sheet = sheet;
	page.sheets = 1;
}

const char *output_left_out(char *buf, size_t size, unsigned int *sheets)
{
	size_t at = 0;
	int c;

	*buf = '\0';
	*sheets = page.sheets;
	for (c = 0; c < MAX_COLS && at < size; c++)
		if (page.left_out[c])
			at += (size_t)snprintf(buf + at, size - at, "%s%s", at ? ", " : "",
					       page.heads[c].head);
	return buf;
}

static unsigned int how_of(const struct output_col *col)
{
	return col->how & ((1U << OUTPUT_RANK_SHIFT) - 1);
}

static unsigned int rank_of(const struct output_col *col)
{
	return col->how >> OUTPUT_RANK_SHIFT;
}

static int bar_width(void)
{
	return page.cols && page.cols < NARROW ? SHORT_BAR_WIDTH : BAR_WIDTH;
}

static const char *bar(double share, char *buf, size_t size)
{
	const int width = bar_width();
	const int full = (int)(share * width + 0.5);

	snprintf(buf, size, "[%.*s%.*s] %3.0f %%", full, "####################", width - full,
		 "....................", share * 100);
	return buf;
}

static const char *list_text(output_t *list, char *buf, size_t size)
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
static const char *cell(output_t *value, unsigned int how, char *buf, size_t size)
{
	if (value && how == OUTPUT_RATE)
		return rate_text(json_object_get_double(value), buf, size);
	if (value && how == OUTPUT_BAR)
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
	const bool right = how == OUTPUT_RIGHT || how == OUTPUT_RATE;
	int pad = width - text_width(text);

	for (; right && pad > 0; pad--)
		fputc(' ', output_sink());
	fputs(text, output_sink());
	for (; !last && pad > 0; pad--)
		fputc(' ', output_sink());
	fputs(last ? "\n" : "  ", output_sink());
}

/* The text of each cell, row by row: what it takes to know how wide the columns are. */
static char **cells_of(output_t *list, const struct output_col *cols, int n, int *width)
{
	const size_t rows = json_object_array_length(list);
	char **cells = calloc(rows * (size_t)n + 1, sizeof(*cells)), buf[1024];
	size_t row;
	int c, len;

	if (!cells)
		out_of_memory();
	for (row = 0; row < rows; row++) {
		for (c = 0; c < n; c++) {
			output_t *v = output_at(json_object_array_get_idx(list, row), cols[c].key);
			char *text = strdup(cell(v, how_of(&cols[c]), buf, sizeof(buf)));

			if (!text)
				out_of_memory();
			len = text_width(text_plain(text, false));
			width[c] = len > width[c] ? len : width[c];
			cells[row * (size_t)n + (size_t)c] = text;
		}
	}
	return cells;
}

/* The best of those that are on no sheet yet and have room; 0: none. */
static int best_of(const struct output_col *cols, int n, const int *width, const int *sheet_of,
		   int room)
{
	int c, best = 0;

	for (c = 1; c < n; c++)
		if (sheet_of[c] < 0 && width[c] + GAP <= room &&
		    (!best || rank_of(&cols[c]) < rank_of(&cols[best])))
			best = c;
	return best;
}

/* On which sheet each is; returns how many there are. One that is wider than all is alone. */
static unsigned int deal(const struct output_col *cols, int n, const int *width, int room,
			 int *sheet_of)
{
	int c, left = n - 1, sheet;

	for (c = 0; c < n; c++)
		sheet_of[c] = -1;
	for (sheet = 0; left; sheet++) {
		int here = room;

		c = best_of(cols, n, width, sheet_of, here)
			    ?: best_of(cols, n, width, sheet_of, INT_MAX);
		for (; c; c = best_of(cols, n, width, sheet_of, here)) {
			sheet_of[c] = sheet;
			here -= width[c] + GAP;
			left--;
		}
	}
	return sheet ? (unsigned int)sheet : 1;
}

/* On a page what changes its width all the time would move all columns. */
static int least_width(const struct output_col *col)
{
	switch (how_of(col)) {
	case OUTPUT_BAR:
		return bar_width() + (int)strlen("[] 100 %");
	case OUTPUT_RATE:
		return (int)strlen("99.9 MB/s");
	case OUTPUT_RIGHT:
		return rank_of(col) ? LEAST_NUMBER : 0;
	default:
		return 0;
	}
}

/* Which of them are shown; the first one says whose line it is. */
static void choose(const struct output_col *cols, int n, int *width, int indent, bool *shown)
{
	int sheet_of[MAX_COLS], c;
	unsigned int sheets, sheet;

	memset(shown, true, MAX_COLS * sizeof(*shown));
	if (!page.cols)
		return;
	for (c = 0; c < n; c++)
		if (width[c] < least_width(&cols[c]))
			width[c] = least_width(&cols[c]);
	sheets = deal(cols, n, width, (int)page.cols - indent - width[0], sheet_of);
	sheet = page.sheet < sheets ? page.sheet : sheets - 1;
	page.sheets = sheets > page.sheets ? sheets : page.sheets;
	page.heads = cols;
	for (c = 1; c < n; c++) {
		shown[c] = (unsigned int)sheet_of[c] == sheet;
		page.left_out[c] |= !shown[c];
	}
}

static void print_row(const struct output_col *cols, const bool *shown, int n, const int *width,
		      const char *indent, char **text)
{
	int c, last = 0;

	for (c = 0; c < n; c++)
		last = shown[c] ? c : last;
	fputs(indent, output_sink());
	for (c = 0; c < n; c++)
		if (shown[c])
			print_cell(text ? text[c] : cols[c].head, width[c], how_of(&cols[c]),
				   c == last);
}

void output_table(output_t *list, const struct output_col *cols, const char *indent)
{
	size_t row, rows = json_object_array_length(list), i;
	int width[MAX_COLS], n = 0;
	bool shown[MAX_COLS];
	char **cells;

	if (output_is_json())
		return;
	for (; cols[n].head && n < MAX_COLS; n++)
		width[n] = (int)strlen(cols[n].head);
	cells = cells_of(list, cols, n, width);
	choose(cols, n, width, (int)strlen(indent), shown);
	print_row(cols, shown, n, width, indent, NULL);
	for (row = 0; row < rows; row++)
		print_row(cols, shown, n, width, indent, cells + row * (size_t)n);
	for (i = 0; i < rows * (size_t)n; i++)
		free(cells[i]);
	free(cells);
}
