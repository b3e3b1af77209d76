/* SPDX-License-Identifier: GPL-2.0 */
#ifndef MPS_UTIL_H
#define MPS_UTIL_H

#include <stdbool.h>
#include <stddef.h>

struct btf;
struct btf_member;

/* First line of a file without its newline; 0 or a negative errno. */
int read_line(const char *path, char *buf, size_t size);

/* The same from a file that is open; closes it. */
int read_line_fd(int fd, char *buf, size_t size);

/* All that the file gives, NUL added; NULL with errno. The caller frees it. */
char *read_all(int fd, size_t *len);

/* The same of no more than limit bytes: NULL with EFBIG where there are more. */
char *read_most(int fd, size_t limit, size_t *len);

void out_of_memory(void) __attribute__((noreturn));

/* Makes room for one more element of an array that grows in powers of two. */
void *grow(void *array, unsigned int used, size_t size);

void sleep_ms(unsigned int ms);

/* Is it there for this process? access() asks for the real user without capabilities. */
bool is_there(const char *path);
/* No such name. A link that leads nowhere is there, and so is what cannot be looked at. */
bool is_nowhere(const char *path);

/* "" where there is no such type. */
const char *btf_type_name(const struct btf *btf, unsigned int id);
/* The named member of struct `id`, or NULL. */
const struct btf_member *btf_member(const struct btf *btf, unsigned int id, const char *name);

#endif /* MPS_UTIL_H */
