// SPDX-License-Identifier: GPL-2.0
/*
 * The namespace of `monitor`. Its name may go, or be given to another one, and a process that it
 * was found by may end; it is the same one as long as anybody else has it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cmd/monitor.h"

enum exit_code monitor_netns_open(struct monitor_netns *n, const char *text)
{
	enum exit_code ret = netns_resolve(&n->found, text);

	if (ret != EX_OK)
		return ret;
	n->fd = open(n->found.path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (n->fd < 0)
		return fail_on(code_of(errno), n->found.path, HINT_NETNS, "%s", strerror(errno));
	n->held = n->found;
	snprintf(n->held.path, sizeof(n->held.path), "/proc/self/fd/%d", n->fd);
	if (netns_is_gone(&n->held))
		return fail_on(EX_FAILED, n->found.path, HINT_NETNS, "it has just ended");
	return EX_OK;
}

bool monitor_netns_lives(struct monitor_netns *n)
{
	struct netns_list all;
	const struct netns *other;

	if (!netns_is_gone(&n->found))
		return true;
	netns_names(&all);
	other = netns_find(&all, n->held.ino);
	if (other)
		n->found = *other;
	netns_free(&all);
	return other;
}

void monitor_netns_close(struct monitor_netns *n)
{
	if (n->fd >= 0)
		close(n->fd);
}
