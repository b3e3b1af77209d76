// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>
#include <json-c/json.h>
#include <bpf/libbpf.h>
#include "report.h"

static bool as_json, to_log;
static int verbosity;
static char last_warning[400];
static void (*call_first)(void);

void report_setup(bool json, int verbose)
{
	as_json = json;
	verbosity = verbose;
}

void report_to_log(void)
{
	to_log = true;
}

/* Nothing may hang on it: whoever cannot log has said it on stderr. */
static void log_line(const char *text)
{
	char line[1500];
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

void report_first(void (*call)(void))
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
	if (value)
		json_object_object_add(o, key, json_object_new_string(value));
}

static void print_json_line(const char *key, struct json_object *value)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, key, value);
	fprintf(stderr, "%s\n",
		json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
							  JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

enum exit_code fail(enum exit_code code, const char *operation, const char *object,
		    const char *hint, const char *why, ...)
{
	char reason[1000], line[2200];
	va_list ap;

	va_start(ap, why);
	vsnprintf(reason, sizeof(reason), why, ap);
	va_end(ap);

	if (call_first)
		call_first();
	snprintf(line, sizeof(line), "cannot %s%s%s: %s%s%s", operation, object ? " " : "",
		 object ? object : "", reason, hint ? "; " : "", hint ? hint : "");
	if (to_log)
		log_line(line);
	fflush(stdout);
	if (as_json) {
		struct json_object *o = json_object_new_object();

		add(o, "operation", operation);
		add(o, "object", object);
		add(o, "reason", reason);
		add(o, "hint", hint);
		add(o, "kind", code_name(code));
		json_object_object_add(o, "exit_code", json_object_new_int(code));
		print_json_line("error", o);
		return code;
	}
	fprintf(stderr, PROGRAM ": %s\n", line);
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
	if (as_json) {
		char *text = NULL;

		if (vasprintf(&text, fmt, ap) < 0)
			return 0;
		print_json_line("log", json_object_new_string(text));
		free(text);
		return 0;
	}
	return vfprintf(stderr, fmt, ap);
}

void report_libbpf(void)
{
	*last_warning = '\0';
	libbpf_set_print(on_libbpf_message);
}

const char *libbpf_reason(void)
{
	return last_warning;
}
