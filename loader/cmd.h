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

#endif /* MPS_CMD_H */
