/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For targets of the command: what it says, kept and judged, and files in memory. Every failure is
 * one line of plain text that says what failed, or one JSON object; where nothing failed, nothing
 * is said.
 */
#ifndef MPS_TESTS_SAID_H
#define MPS_TESTS_SAID_H

#include <locale.h>
#include <unistd.h>
#include <sys/mman.h>
#include <json-c/json.h>
#include "draw.h"
#include "cli/error.h"

static char said_text[1 << 16];
static FILE *said_real;
static bool said_json;

static inline void said_begin(bool json)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	said_json = json;
	said_real = stderr;
	memset(said_text, 0, 4096);
	stderr = fmemopen(said_text, sizeof(said_text), "w");
	error_setup(json, 0);
}

static inline bool said_is_plain(const char *line)
{
	const unsigned char *at = (const unsigned char *)line;

	for (; *at; at++)
		if (*at < ' ' || *at == 0x7f)
			return false;
	return mbstowcs(NULL, line, 0) != (size_t)-1;
}

/* The words of one failure; the end of the line is off. */
static inline void said_check_json(const char *line, int code)
{
	struct json_tokener *tok = json_tokener_new();
	struct json_object *all, *error, *value;
	/* json-c's strict mode takes bytes from 0x80 on for control characters */
	json_tokener_set_flags(tok, JSON_TOKENER_VALIDATE_UTF8);
	all = json_tokener_parse_ex(tok, line, -1);
	claim(all && json_tokener_get_error(tok) == json_tokener_success, "an error is JSON");
	claim(json_tokener_get_parse_end(tok) == strlen(line), "and nothing else");
	claim(json_object_object_get_ex(all, "error", &error), "under its key");
	claim(json_object_object_get_ex(error, "operation", &value), "with what failed");
	claim(json_object_object_get_ex(error, "reason", &value), "and why");
	claim(json_object_object_get_ex(error, "exit_code", &value) &&
		      json_object_get_int(value) == code,
	      "and the exit code");
	json_object_put(all);
	json_tokener_free(tok);
}

/* code: how the command would end */
static inline void said_end(int code)
{
	const char *start = PROGRAM ": cannot ";
	char *end;

	fclose(stderr);
	stderr = said_real;
	if (code == EX_OK) {
		claim(!*said_text, "nothing failed, nothing is said");
		return;
	}
	end = strchr(said_text, '\n');
	claim(end && !end[1], "a failure is one line");
	*end = '\0';
	claim(said_is_plain(said_text), "of plain text");
	if (*said_text == '{')
		said_check_json(said_text, code);
	else
		claim(!said_json && !strncmp(said_text, start, strlen(start)),
		      "that says what failed");
}

struct memory {
	int fd;
	char path[40];
};

/* A regular file with these bytes; the same one in each run. */
static inline void memory_set(struct memory *m, const void *data, size_t size)
{
	if (!*m->path) {
		m->fd = memfd_create("fuzz", MFD_CLOEXEC);
		snprintf(m->path, sizeof(m->path), "/proc/self/fd/%d", m->fd);
	}
	if (m->fd < 0 || ftruncate(m->fd, 0) || pwrite(m->fd, data, size, 0) != (ssize_t)size ||
	    lseek(m->fd, 0, SEEK_SET))
		abort();
}

#endif /* MPS_TESTS_SAID_H */
