/* SPDX-License-Identifier: GPL-2.0 */
/* Errors and exit codes: every failure says operation, object, why, what to do. */
#ifndef MPS_REPORT_H
#define MPS_REPORT_H

#include <stdbool.h>
#include <bpf/libbpf_version.h>

/* Older ones do not find a struct_ops type whose value struct lives in a module. */
#if LIBBPF_MAJOR_VERSION < 1 || (LIBBPF_MAJOR_VERSION == 1 && LIBBPF_MINOR_VERSION < 6)
#error "mptcp-sched needs libbpf 1.6 or newer to build"
#endif

#define PROGRAM "mptcp-sched"

/* X(ID, value, name in JSON, meaning) */
#define EXIT_CODES(X)                                                                         \
	X(OK, 0, "ok", "fine")                                                                \
	X(FAILED, 1, "failed", "the operation failed; nothing was changed unless it says so") \
	X(USAGE, 2, "usage", "wrong use of the command")                                      \
	X(KERNEL, 3, "kernel", "the kernel lacks something; `" PROGRAM " doctor` says what")  \
	X(PERMISSION, 4, "permission", "no permission")

enum exit_code {
#define EXIT_ENUM(id, value, name, text) EX_##id = value,
	EXIT_CODES(EXIT_ENUM)
#undef EXIT_ENUM
};

/* Set from the options, before anything can fail. */
void report_setup(bool json, int verbose);

/* To be called before anything is told: a page that hides it has to go. */
void report_first(void (*call)(void));

/*
 * Prints "cannot OPERATION OBJECT: WHY; HINT" to stderr, or the same as one
 * JSON object. object and hint may be NULL. Returns code.
 */
enum exit_code fail(enum exit_code code, const char *operation, const char *object,
		    const char *hint, const char *why, ...) __attribute__((format(printf, 5, 6)));

/* Errors go to the system's log as well, or to the kernel's: for who is run where nobody looks. */
void report_to_log(void);

/* EX_PERMISSION for EPERM and EACCES, EX_FAILED for any other errno. */
enum exit_code code_of(int errnum);

/* libbpf's own messages go to stderr with -v only (with -vv all of them). */
void report_libbpf(void);

/* "" or ": " and libbpf's latest warning, since the last call of report_libbpf(). */
const char *libbpf_reason(void);

/* For the help text. */
void print_exit_codes(void);

#endif /* MPS_REPORT_H */
