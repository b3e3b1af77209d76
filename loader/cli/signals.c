// SPDX-License-Identifier: GPL-2.0
#include <stddef.h>
#include <sys/signalfd.h>
#include "cli/signals.h"

bool signal_is_ignored(int number)
{
	struct sigaction was;

	return !sigaction(number, NULL, &was) && was.sa_handler == SIG_IGN;
}

int signals_open(void)
{
	static const int by_terminal[] = { SIGHUP, SIGQUIT };
	unsigned int i;
	sigset_t set;

	/* who reads has gone: that is told by the write's error */
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	/* once they are blocked, they would come all the same */
	for (i = 0; i < sizeof(by_terminal) / sizeof(by_terminal[0]); i++)
		if (!signal_is_ignored(by_terminal[i]))
			sigaddset(&set, by_terminal[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void signals_hold(sigset_t *before)
{
	static const int ending[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGALRM };
	unsigned int i;
	sigset_t set;

	sigemptyset(&set);
	for (i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		sigaddset(&set, ending[i]);
	sigprocmask(SIG_BLOCK, &set, before);
}

void signals_let(const sigset_t *before)
{
	sigprocmask(SIG_SETMASK, before, NULL);
}
