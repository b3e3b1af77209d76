/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What rules name and this machine has: cgroups and network namespaces. A rule holds their numbers.
 * They are looked for once per run of the command, when the first one is asked for.
 */
#ifndef MPS_STEER_OBJECTS_H
#define MPS_STEER_OBJECTS_H

#include "sched/steer_values.h"

/*
 * PATH below /sys/fs/cgroup, or id:NUMBER: its id and those of its ancestors by level; *level: its
 * own. ids has MPS_STEER_LEVELS. One that is gone has level 0, which matches as little as any.
 */
bool value_cgroup(__u64 *ids, unsigned int *level, const char *text, struct steer_why *why);
/* NAME, PATH, PID or net:[INODE] */
bool value_netns(__u32 *inode, const char *text, struct steer_why *why);

/* As it is read, by the name or path that it has, else by its number. */
void text_cgroup(__u64 id, char *buf, size_t size);
void text_netns(__u32 inode, char *buf, size_t size);

/*
 * Also where it cannot be told: not all cgroups can be seen from here, or this process may not look
 * at all processes.
 */
bool cgroup_is_there(__u64 id);
bool netns_is_there(__u32 inode);

#endif /* MPS_STEER_OBJECTS_H */
