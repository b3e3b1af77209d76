// SPDX-License-Identifier: GPL-2.0
/*
 * The grammar of the file is libinih's, made stricter here where it forgives: it
 * ends a line that is too long, takes an indented one for more of the one above,
 * and does not tell of sections without keys.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ini.h>
#include "cli/config.h"
#include "cli/input.h"
#include "cli/util.h"

#define BLANKS " \t\r\n\v\f"
#define HINT_FORM                                                                           \
	"there are [load], [paths], [rules], [root], [netns] and [containers], with lines " \
	"KEY = VALUE"

static const char *const sections[NR_CONFIG_KINDS] = { "load", "paths", "rules",
						       "root", "netns", "containers" };

/* The keys of a section that has some and no others. */
#define MAX_KEYS 2
static const char *const keys_of[NR_CONFIG_KINDS][MAX_KEYS] = {
	[CONFIG_RULES] = { "rule" },
	[CONFIG_ROOT] = { "scheduler" },
	[CONFIG_CONTAINERS] = { CONFIG_MAY_LOAD, CONFIG_MAY_ASK },
};

struct reader {
	struct config *config;
	FILE *file;
	char *text;
	size_t size;
	unsigned int line;
	enum exit_code ret;
};

const char *config_place(const struct config *c, unsigned int line, char *buf, size_t size)
{
	snprintf(buf, size, "%s:%u", c->path, line);
	return buf;
}

static void wrong(struct reader *r, const char *hint, const char *why, const char *detail)
{
	char place[300];

	r->ret = fail_on(EX_FAILED, config_place(r->config, r->line, place, sizeof(place)), hint,
			 "%s%s", why, detail);
}

static int find_section(const char *name, size_t len)
{
	int i;

	for (i = 0; i < NR_CONFIG_KINDS; i++)
		if (strlen(sections[i]) == len && !strncmp(sections[i], name, len))
			return i;
	return -1;
}

static void check_section(struct reader *r, const char *line)
{
	const char *end = strchr(line, ']');
	size_t rest = end ? strspn(end + 1, BLANKS) : 0;

	if (!end)
		wrong(r, HINT_FORM, "a section without its ]", "");
	else if (end[1 + rest] && !strchr(";#", end[1 + rest]))
		wrong(r, HINT_FORM, "there is more behind the section's ]", "");
	else if (find_section(line + 1, (size_t)(end - line - 1)) < 0)
		wrong(r, HINT_FORM, "no such section is known: ", line);
}

/* For libinih: the next line, as fgets() gives it, without blanks before it. */
static char *next_line(char *buf, int size, void *data)
{
	struct reader *r = data;
	ssize_t len = r->ret == EX_OK ? getline(&r->text, &r->size, r->file) : -1;
	char *start = r->text;

	if (len < 0)
		return NULL;
	r->line++;
	if (strlen(r->text) != (size_t)len)
		wrong(r, NULL, "there is a NUL character in the line", "");
	r->text[strcspn(r->text, "\r\n")] = '\0';
	start += strspn(start, BLANKS);
	if (r->ret == EX_OK && *start == '[')
		check_section(r, start);
	if (r->ret == EX_OK && strlen(start) + 2 > (size_t)size)
		wrong(r, NULL, "the line is too long", "");
	if (r->ret != EX_OK)
		return NULL;
	snprintf(buf, (size_t)size, "%s\n", start);
	return buf;
}

static void split(struct reader *r, struct config_line *l, const char *value)
{
	char *copy = strdup(value), *save = NULL, *word;

	/* a comment right behind the = is none to libinih */
	for (word = copy ? strtok_r(copy, BLANKS, &save) : NULL; word && *word != ';';
	     word = strtok_r(NULL, BLANKS, &save)) {
		if (l->nr_words == MAX_SETS) {
			wrong(r, NULL, "too many words", "");
			break;
		}
		l->word[l->nr_words++] = strdup(word);
	}
	free(copy);
}

static void check_selection(struct reader *r, struct config_line *l)
{
	l->reinject = l->nr_words == 2 && !strcmp(l->word[1], CONFIG_REINJECT);
	if (l->nr_words - l->reinject != 1)
		wrong(r, "write NAME = SCHEDULER, or default --reinject",
		      "one scheduler is to be named here, not: ",
		      l->nr_words ? l->word[l->nr_words - 1] : "none");
	else if (l->reinject && strcmp(l->word[0], "default"))
		wrong(r, "other schedulers decide about copies themselves",
		      "--reinject is for the kernel's default, not for ", l->word[0]);
}

static void check_unique(struct reader *r, const struct config_line *l)
{
	const struct config *c = r->config;
	char hint[60];
	unsigned int i;

	for (i = 0; i < c->nr && &c->line[i] != l; i++) {
		if (c->line[i].kind != l->kind || strcmp(c->line[i].key, l->key))
			continue;
		snprintf(hint, sizeof(hint), "it is in line %u already", c->line[i].line);
		wrong(r, hint, "given twice: ", l->key);
		return;
	}
}

static bool is_key(int kind, const char *key)
{
	unsigned int i;

	for (i = 0; i < MAX_KEYS && keys_of[kind][i]; i++)
		if (!strcmp(keys_of[kind][i], key))
			return true;
	return !i;
}

/* For libinih: one statement. Returns 0 where it is wrong. */
static int take(void *data, const char *section, const char *name, const char *value)
{
	struct reader *r = data;
	struct config *c = r->config;
	int kind = find_section(section, strlen(section));
	struct config_line *l;

	if (kind < 0) {
		wrong(r, HINT_FORM, "this stands in no section: ", name);
		return 0;
	}
	c->line = grow(c->line, c->nr, sizeof(*c->line));
	l = &c->line[c->nr++];
	memset(l, 0, sizeof(*l));
	l->kind = (enum config_kind)kind;
	l->line = r->line;
	l->key = strdup(name);
	split(r, l, value);
	if (r->ret == EX_OK && !*l->key)
		wrong(r, HINT_FORM, "there is no name before the =", "");
	if (r->ret == EX_OK && !is_key(kind, l->key))
		wrong(r,
		      "[rules] has one key, rule, and [root] has scheduler; [containers] has load "
		      "and allow",
		      "no such key is known: ", l->key);
	if (r->ret == EX_OK && (kind == CONFIG_ROOT || kind == CONFIG_NETNS))
		check_selection(r, l);
	if (r->ret == EX_OK && kind != CONFIG_RULES)
		check_unique(r, l);
	return r->ret == EX_OK;
}

static enum exit_code parse(struct reader *r)
{
	int err = ini_parse_stream(next_line, r, take, r);

	if (r->ret == EX_OK && err > 0) {
		r->line = (unsigned int)err;
		wrong(r, HINT_FORM, "neither [SECTION] nor KEY = VALUE", "");
	}
	if (r->ret == EX_OK && err < 0)
		r->ret = fail(EX_FAILED, NULL, "out of memory");
	return r->ret;
}

enum exit_code config_read(struct config *c, const char *path)
{
	ERROR_ABOUT("read", path);
	struct reader r = { .config = c };
	size_t len = 0;
	char *text;

	memset(c, 0, sizeof(*c));
	c->path = path;
	r.ret = input_file(path, "--config FILE names another; an example comes with the command",
			   INPUT_CONFIG, &text, &len);
	if (r.ret != EX_OK)
		return r.ret;
	/* the NUL behind it is no part of it, but a file of no bytes cannot be opened */
	r.file = len ? fmemopen(text, len, "r") : fopen("/dev/null", "re");
	if (r.file) {
		parse(&r);
		fclose(r.file);
	} else {
		r.ret = fail(EX_FAILED, NULL, "%s", strerror(errno));
	}
	free(r.text);
	free(text);
	return r.ret;
}

static const struct config_line *for_containers(const struct config *c, const char *key)
{
	unsigned int i;

	for (i = 0; i < c->nr; i++)
		if (c->line[i].kind == CONFIG_CONTAINERS && !strcmp(c->line[i].key, key))
			return &c->line[i];
	return NULL;
}

static bool has_word(const struct config_line *l, const char *word)
{
	unsigned int i;

	for (i = 0; i < l->nr_words; i++)
		if (!strcmp(l->word[i], word))
			return true;
	return false;
}

bool config_lets_load(const struct config *c, const char *word)
{
	const struct config_line *l = for_containers(c, CONFIG_MAY_LOAD);

	return l && has_word(l, word);
}

bool config_lets_ask(const struct config *c, const char *word)
{
	const struct config_line *l = for_containers(c, CONFIG_MAY_ASK);

	return !l || has_word(l, word);
}

void config_free(struct config *c)
{
	unsigned int i;

	for (i = 0; i < c->nr; i++) {
		while (c->line[i].nr_words)
			free(c->line[i].word[--c->line[i].nr_words]);
		free(c->line[i].key);
	}
	free(c->line);
	memset(c, 0, sizeof(*c));
}
