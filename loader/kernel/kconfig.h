/* SPDX-License-Identifier: GPL-2.0 */
/* The running kernel's build options, from /proc/config.gz or /boot. */
#ifndef MPS_KCONFIG_H
#define MPS_KCONFIG_H

#include <stdbool.h>

/* Reads them once; false where there are none. *source: the file, or what is missing. */
bool kconfig_source(const char **source);

/* Is this option y or m? Only after kconfig_source() said true. */
bool kconfig_has(const char *option);

#endif /* MPS_KCONFIG_H */
