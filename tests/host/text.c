/* SPDX-License-Identifier: GPL-2.0 */
/* loader/cli/text.c and loader/cli/wrap.c as a library, without the rest of the command. */
#define _GNU_SOURCE
#include "../../loader/cli/text.c"
#include "../../loader/cli/wrap.c"

void out_of_memory(void)
{
	abort();
}

/* The array of each element more is another one: whoever keeps a pointer into it is found out. */
void *grow(void *array, unsigned int used, size_t size)
{
	void *more = malloc((used + 1) * size);

	if (!more)
		abort();
	if (used)
		memcpy(more, array, used * size);
	free(array);
	return more;
}

/* How many lines of the text there are; the lines themselves into buf. */
unsigned int wrapped_text(const char *text, unsigned int cols, unsigned int crop, char *buf,
			  size_t size)
{
	FILE *f = fmemopen(buf, size, "w");
	struct wrapped w;
	unsigned int i, nr;

	wrap(&w, text, cols);
	if (crop)
		wrap_crop(&w, crop);
	for (i = 0; i < w.nr; i++) {
		wrap_print(&w, i, f);
		fputc('\n', f);
	}
	nr = w.nr;
	fclose(f);
	wrap_free(&w);
	return nr;
}
