/* SPDX-License-Identifier: GPL-2.0 */
/* Errors and exit codes: every failure says operation, object, why, what to do. */
#ifndef MPS_ERROR_H
#define MPS_ERROR_H

#include <stdbool.h>
#include <bpf/libbpf_version.h>

/* Older ones do not find a struct_ops type whose value struct lives in a module. */
#if LIBBPF_MAJOR_VERSION < 1 || (LIBBPF_MAJOR_VERSION == 1 && LIBBPF_MINOR_VERSION < 6)
#error "mptcp-sched needs libbpf 1.6 or newer to build"
#endif

#define PROGRAM "mptcp-sched"

/*
 * X(ID, value, name in JSON, meaning). USAGE and FAILED are told apart by one question: can it be
 * seen from the words of the command alone, without a look at the machine and its files?
 */
#define EXIT_CODES(X)                                                                               \
	X(OK, 0, "ok", "fine")                                                                      \
	X(FAILED, 1, "failed",                                                                      \
	  "the operation failed, or there is no such thing; nothing was changed unless it says so") \
	X(USAGE, 2, "usage", "the words of the command are wrong, whatever the machine is like")    \
	X(KERNEL, 3, "kernel", "the kernel lacks something; `" PROGRAM " doctor` says what")        \
	X(PERMISSION, 4, "permission", "no permission")

enum exit_code {
#define EXIT_ENUM(id, value, name, text) EX_##id = value,
	EXIT_CODES(EXIT_ENUM)
#undef EXIT_ENUM
};

/* Set from the options, before anything can fail. */
void error_setup(bool json, int verbose);

/* To be called before anything is told: a page that hides it has to go. */
void error_first(void (*call)(void));

/*
 * What is being done, and to what: whatever is called from here to the end of the block says so
 * where it fails. operation NULL: it is a part of what the caller does, with an object of its own.
 * Both texts must stay as long.
 */
#define ERROR_ABOUT(operation, object)              \
	const struct error_about error_about_before \
		__attribute__((cleanup(error_about_end), unused)) = error_about(operation, object)

struct error_about {
	const char *operation, *object;
};

/* For the macro: what is said before and afterwards. */
struct error_about error_about(const char *operation, const char *object);
void error_about_end(const struct error_about *before);

/*
 * Prints "cannot OPERATION OBJECT: WHY; HINT" to stderr, or the same as one
 * JSON object. hint may be NULL. Returns code.
 */
enum exit_code fail(enum exit_code code, const char *hint, const char *why, ...)
	__attribute__((format(printf, 3, 4)));
/* Of the same operation, on another object, or on none: NULL. */
enum exit_code fail_on(enum exit_code code, const char *object, const char *hint, const char *why,
		       ...) __attribute__((format(printf, 4, 5)));

/* Errors go to the system's log as well, or to the kernel's: for who is run where nobody looks. */
void error_to_log(void);

/* EX_PERMISSION for EPERM and EACCES, EX_FAILED for any other errno. */
enum exit_code code_of(int errnum);

/* libbpf's own messages go to stderr with -v only (with -vv all of them). */
void error_watch_libbpf(void);

/* "" or ": " and libbpf's latest warning, since the last call of error_watch_libbpf(). */
const char *libbpf_reason(void);

/* For the help text. */
void print_exit_codes(void);

#endif /* MPS_ERROR_H */
