/* SPDX-License-Identifier: GPL-2.0 */
/* The commands, one file each. None calls another: what they share is below them. */
#ifndef MPS_COMMANDS_H
#define MPS_COMMANDS_H

#include "cli/args.h"

enum exit_code cmd_list(const struct args *args);
enum exit_code cmd_load(const struct args *args);
enum exit_code cmd_unload(const struct args *args);
enum exit_code cmd_use(const struct args *args);
enum exit_code cmd_oci_hook(const struct args *args);
enum exit_code cmd_apply(const struct args *args);
enum exit_code cmd_get(const struct args *args);
enum exit_code cmd_set(const struct args *args);
enum exit_code cmd_steer(const struct args *args);
enum exit_code cmd_show(const struct args *args);
enum exit_code cmd_stats(const struct args *args);
enum exit_code cmd_monitor(const struct args *args);
enum exit_code cmd_trace(const struct args *args);
enum exit_code cmd_replay(const struct args *args);
enum exit_code cmd_exporter(const struct args *args);
enum exit_code cmd_doctor(const struct args *args);

/* `help --json`: the tables as one document for programs, of one command or, with NULL, of all. */
void describe(const struct command *only);

#endif /* MPS_COMMANDS_H */
