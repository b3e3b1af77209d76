/* SPDX-License-Identifier: GPL-2.0 */
/* The commands, one file each, and what they use of one another. */
#ifndef MPS_CMD_H
#define MPS_CMD_H

#include "args.h"
#include "mps_types.h"

enum exit_code cmd_list(const struct args *args);
enum exit_code cmd_load(const struct args *args);
enum exit_code cmd_unload(const struct args *args);
enum exit_code cmd_use(const struct args *args);
enum exit_code cmd_oci_hook(const struct args *args);
enum exit_code cmd_apply(const struct args *args);
enum exit_code cmd_get(const struct args *args);
enum exit_code cmd_set(const struct args *args);
enum exit_code cmd_show(const struct args *args);
enum exit_code cmd_stats(const struct args *args);
enum exit_code cmd_monitor(const struct args *args);
enum exit_code cmd_exporter(const struct args *args);
enum exit_code cmd_doctor(const struct args *args);

/*
 * Registers and pins a scheduler that comes with the command, or the one in a
 * file. On failure nothing stays behind. name takes what it is registered as.
 */
enum exit_code load_sched(const char *operation, const char *what, const struct args *args,
			  char *name);

/* As `unload NAME` does, with or without --force. */
enum exit_code unload_sched(const char *name, bool force);

#endif /* MPS_CMD_H */
