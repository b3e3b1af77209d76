// SPDX-License-Identifier: GPL-2.0
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include "signals.h"

int signals_open(void)
{
	sigset_t set;

	/* who reads has gone: that is told by the write's error */
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}
