// SPDX-License-Identifier: GPL-2.0
#include <unistd.h>
#include <bpf/bpf.h>
#include "cli/util.h"
#include "kernel/kern.h"
#include "sched/reinject.h"
#include "sched/release.h"

/* The map goes when its last user goes: a program, a link or a connection. */
static bool map_is_gone(__u32 id)
{
	int fd = bpf_map_get_fd_by_id(id);

	if (fd >= 0)
		close(fd);
	return fd < 0;
}

static bool prog_is_gone(__u32 id)
{
	int fd = bpf_prog_get_fd_by_id(id);

	if (fd >= 0)
		close(fd);
	return fd < 0;
}

bool released_aux_progs(const struct sched *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_aux_progs; i++)
		if (!prog_is_gone(s->aux_prog[i]))
			return false;
	return true;
}

/*
 * So that rmmod works right behind: the last scheduler frees the bridge as a
 * whole. On a kernel with an API of its own only those that ask for copies
 * hold it, which their maps do not tell.
 */
static bool bridge_is_released(const struct usage *u, __u32 map_id, int refs_before)
{
	unsigned int i;

	if (refs_before <= 0)
		return true;
	if (is_there(REINJECT_PIN))
		return kern_bridge_refs() < refs_before;
	for (i = 0; i < u->schedulers.nr; i++)
		if (u->schedulers.sched[i].map_id && u->schedulers.sched[i].map_id != map_id &&
		    !map_is_gone(u->schedulers.sched[i].map_id))
			return kern_bridge_refs() < refs_before;
	return kern_bridge_refs() <= 0;
}

int release_refs(const struct sched *s)
{
	struct kern k;

	kern_probe(&k);
	return k.support == SUPPORT_NATIVE && !s->nr_aux_progs && !s->clock ? 0
									    : kern_bridge_refs();
}

void release_wait(const struct usage *u, const struct sched *s, bool in_use, int refs_before)
{
	unsigned int ms;

	for (ms = 0; ms < RELEASE_MS; ms += POLL_MS) {
		if (released_aux_progs(s) && (!s->clock || prog_is_gone(s->clock)) &&
		    (in_use ||
		     (map_is_gone(s->map_id) && bridge_is_released(u, s->map_id, refs_before))))
			return;
		sleep_ms(POLL_MS);
	}
}
