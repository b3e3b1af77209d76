// SPDX-License-Identifier: GPL-2.0
/*
 * The configuration file (loader/cli/config.c). Claims: what is taken keeps the grammar of
 * config.h, written anew it is read as the same, and what is refused has one reason.
 */
#include "said.h"
#include "cli/config.h"

static struct memory file, again;

static void check_line(const struct config *c, unsigned int n)
{
	const struct config_line *l = &c->line[n];
	const bool selects = l->kind == CONFIG_ROOT || l->kind == CONFIG_NETNS;
	unsigned int i;

	claim(l->kind < NR_CONFIG_KINDS && *l->key, "a section and a name");
	claim(l->nr_words <= MAX_SETS, "as many words as there is room for");
	for (i = 0; i < l->nr_words; i++)
		claim(*l->word[i] && !strpbrk(l->word[i], " \t\r\n\v\f"), "words");
	if (l->kind == CONFIG_ROOT)
		claim(!strcmp(l->key, "scheduler"), "[root] has one key");
	if (l->kind == CONFIG_RULES)
		claim(!strcmp(l->key, "rule"), "[rules] has one key");
	if (l->kind == CONFIG_CONTAINERS)
		claim(!strcmp(l->key, "load") || !strcmp(l->key, "allow"),
		      "[containers] has two keys");
	if (selects)
		claim(l->nr_words == 1U + l->reinject, "one scheduler");
	if (selects && l->reinject)
		claim(!strcmp(l->word[0], "default"), "--reinject is the default's");
	claim(selects || !l->reinject, "and of those that select");
	for (i = 0; i < n; i++) {
		claim(c->line[i].line < l->line, "in the order of the file");
		claim(c->line[i].kind != l->kind || strcmp(c->line[i].key, l->key) ||
			      l->kind == CONFIG_RULES,
		      "once");
	}
}

static size_t write_anew(const struct config *c, char *buf, size_t size, bool *fits)
{
	static const char *const sections[] = { "load", "paths", "rules",
						"root", "netns", "containers" };
	size_t at = 0, begin;
	unsigned int i, w;

	*fits = true;
	for (i = 0; i < c->nr && at + 65536 < size; i++) {
		const struct config_line *l = &c->line[i];

		at += (size_t)snprintf(buf + at, size - at, "[%s]\n", sections[l->kind]);
		begin = at;
		at += (size_t)snprintf(buf + at, size - at, "%s =", l->key);
		for (w = 0; w < l->nr_words; w++)
			at += (size_t)snprintf(buf + at, size - at, " %s", l->word[w]);
		at += (size_t)snprintf(buf + at, size - at, "\n");
		*fits &= at - begin < 190;
	}
	*fits &= i == c->nr;
	return at;
}

static void check_same(const struct config *a, const struct config *b)
{
	unsigned int i, w;

	claim(a->nr == b->nr, "as many lines");
	for (i = 0; i < a->nr; i++) {
		const struct config_line *l = &a->line[i], *m = &b->line[i];

		claim(l->kind == m->kind && !strcmp(l->key, m->key), "of the same");
		claim(l->nr_words == m->nr_words && l->reinject == m->reinject, "and as long");
		for (w = 0; w < l->nr_words; w++)
			claim(!strcmp(l->word[w], m->word[w]), "word for word");
	}
}

static void read_again(const struct config *c, bool json)
{
	static char text[1 << 20];
	struct config other;
	bool fits;
	const size_t len = write_anew(c, text, sizeof(text), &fits);
	enum exit_code ret;

	if (!fits)
		return;
	memory_set(&again, text, len);
	said_begin(json);
	ret = config_read(&other, again.path);
	said_end(ret);
	claim(ret == EX_OK, "what is written anew is right, too");
	check_same(c, &other);
	config_free(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const bool json = size && *data & 1;
	struct config c;
	enum exit_code ret;
	unsigned int i;

	memory_set(&file, data, size);
	said_begin(json);
	ret = config_read(&c, file.path);
	said_end(ret);
	claim(ret == EX_OK || ret == EX_FAILED, "the words of a file are no usage");
	for (i = 0; ret == EX_OK && i < c.nr; i++)
		check_line(&c, i);
	if (ret == EX_OK)
		read_again(&c, json);
	config_lets_load(&c, CONFIG_REINJECT);
	config_lets_ask(&c, CONFIG_REINJECT);
	config_free(&c);
	return 0;
}
