// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>
#include <json-c/json.h>
#include <bpf/libbpf.h>
#include "cli/error.h"
#include "cli/json_print.h"
#include "cli/text.h"

static bool as_json, to_log;
static int verbosity;
static char last_warning[400];
static void (*call_first)(void);
/* what it says where nobody has told more */
static struct error_about about = { .operation = "run" };

void error_setup(bool json, int verbose)
{
	as_json = json;
	verbosity = verbose;
}

void error_to_log(void)
{
	to_log = true;
}

/* Nothing may hang on it: whoever cannot log has said it on stderr. */
static void log_line(const char *text)
{
	char line[2900];
	int len, fd;

	if (!access("/dev/log", F_OK)) {
		openlog(PROGRAM, LOG_PID, LOG_DAEMON);
		syslog(LOG_ERR, "%s", text);
		closelog();
		return;
	}
	fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	len = snprintf(line, sizeof(line), "<%d>" PROGRAM ": %s\n", LOG_DAEMON | LOG_ERR, text);
	if (write(fd, line, (size_t)len < sizeof(line) ? (size_t)len : sizeof(line) - 1) < 0)
		perror("/dev/kmsg");
	close(fd);
}

void error_first(void (*call)(void))
{
	call_first = call;
}

static const char *code_name(enum exit_code code)
{
	switch (code) {
#define EXIT_NAME(id, value, name, text) \
	case EX_##id:                    \
		return name;
		EXIT_CODES(EXIT_NAME)
#undef EXIT_NAME
	}
	return "unknown";
}

void print_exit_codes(void)
{
#define EXIT_PRINT(id, value, name, text) printf("  %d  %s\n", value, text);
	EXIT_CODES(EXIT_PRINT)
#undef EXIT_PRINT
}

enum exit_code code_of(int errnum)
{
	return errnum == EPERM || errnum == EACCES ? EX_PERMISSION : EX_FAILED;
}

static void add(struct json_object *o, const char *key, const char *value)
{
	char *copy;

	if (!value)
		return;
	json_object_object_add(o, key, json_object_new_string(text_utf8(value, &copy)));
	free(copy);
}

static void print_json_line(const char *key, struct json_object *value)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, key, value);
	json_put_text(stderr, json_object_to_json_string_ext(
				      o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	fputc('\n', stderr);
	json_object_put(o);
}

struct error_about error_about(const char *operation, const char *object)
{
	const struct error_about before = about;

	about.operation = operation ?: before.operation;
	about.object = object;
	return before;
}

void error_about_end(const struct error_about *before)
{
	about = *before;
}

static void tell(enum exit_code code, const char *object, const char *hint, const char *why,
		 va_list ap)
{
	char reason[1500], line[2800];

	vsnprintf(reason, sizeof(reason), why, ap);
	if (call_first)
		call_first();
	snprintf(line, sizeof(line), "cannot %s%s%s: %s%s%s", about.operation, object ? " " : "",
		 object ? object : "", reason, hint ? "; " : "", hint ? hint : "");
	text_plain(line, false);
	if (to_log)
		log_line(line);
	fflush(stdout);
	if (as_json) {
		struct json_object *o = json_object_new_object();

		add(o, "operation", about.operation);
		add(o, "object", object);
		add(o, "reason", reason);
		add(o, "hint", hint);
		add(o, "kind", code_name(code));
		json_object_object_add(o, "exit_code", json_object_new_int(code));
		print_json_line("error", o);
		return;
	}
	fprintf(stderr, PROGRAM ": %s\n", line);
}

enum exit_code fail(enum exit_code code, const char *hint, const char *why, ...)
{
	va_list ap;

	va_start(ap, why);
	tell(code, about.object, hint, why, ap);
	va_end(ap);
	return code;
}

enum exit_code fail_on(enum exit_code code, const char *object, const char *hint, const char *why,
		       ...)
{
	va_list ap;

	va_start(ap, why);
	tell(code, object, hint, why, ap);
	va_end(ap);
	return code;
}

static void remember(const char *fmt, va_list ap)
{
	char line[sizeof(last_warning)];
	const char *text = line;
	size_t len;

	vsnprintf(line, sizeof(line), fmt, ap);
	if (!strncmp(text, "libbpf: ", 8))
		text += 8;
	/* the verifier's log comes with many lines: -v is for that */
	len = strcspn(text, "\n");
	if (!len || strstr(text, "BEGIN PROG LOAD LOG"))
		return;
	snprintf(last_warning, sizeof(last_warning), ": %.*s", (int)len, text);
}

/* Lines stay lines; names of the object's maps and programs are anybody's. */
static int print_log(const char *fmt, va_list ap)
{
	char *text = NULL, *copy;

	if (vasprintf(&text, fmt, ap) < 0)
		return 0;
	if (as_json) {
		print_json_line("log", json_object_new_string(text_utf8(text, &copy)));
		free(copy);
	} else {
		fputs(text_plain(text, true), stderr);
	}
	free(text);
	return 0;
}

static int on_libbpf_message(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	va_list copy;

	if (level == LIBBPF_WARN && !*last_warning) {
		va_copy(copy, ap);
		remember(fmt, copy);
		va_end(copy);
	}
	if (!verbosity || (level == LIBBPF_DEBUG && verbosity < 2))
		return 0;
	return print_log(fmt, ap);
}

void error_watch_libbpf(void)
{
	*last_warning = '\0';
	libbpf_set_print(on_libbpf_message);
}

const char *libbpf_reason(void)
{
	return last_warning;
}
