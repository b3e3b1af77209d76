// SPDX-License-Identifier: GPL-2.0
/*
 * churn short N: N MPTCP connections over loopback, one after the other, 3000 bytes each and an
 * answer. churn long N BYTES: N at once, each of which carries that many, in turns. Both ends are
 * here, and all of it is closed at the end. Exit status 1 with a line where something went wrong.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#define SLICE 3000

struct pair {
	int client, server;
};

static struct sockaddr_in address = { .sin_family = AF_INET };
static int listener;

static void begin(void)
{
	socklen_t len = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, len) ||
	    listen(listener, 16) || getsockname(listener, (struct sockaddr *)&address, &len))
		err(1, "listener");
}

static struct pair connected(void)
{
	struct pair p = { .client = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP) };

	if (p.client < 0 || connect(p.client, (struct sockaddr *)&address, sizeof(address)))
		err(1, "connect");
	p.server = accept(listener, NULL, NULL);
	if (p.server < 0)
		err(1, "accept");
	return p;
}

static void carry(int from, int to, size_t bytes)
{
	static char data[SLICE];

	if (send(from, data, bytes, 0) != (ssize_t)bytes ||
	    recv(to, data, bytes, MSG_WAITALL) != (ssize_t)bytes)
		err(1, "data");
}

static void end(struct pair p)
{
	close(p.client);
	close(p.server);
}

static void many_short(unsigned long nr)
{
	while (nr--) {
		struct pair p = connected();

		carry(p.client, p.server, SLICE);
		carry(p.server, p.client, 1);
		end(p);
	}
}

static void many_long(unsigned long nr, unsigned long bytes)
{
	struct pair *all = calloc(nr, sizeof(*all));
	unsigned long i, done;

	if (!all)
		err(1, "memory");
	for (i = 0; i < nr; i++)
		all[i] = connected();
	for (done = 0; done < bytes; done += SLICE)
		for (i = 0; i < nr; i++) {
			carry(all[i].server, all[i].client, SLICE);
			carry(all[i].client, all[i].server, 1);
		}
	for (i = 0; i < nr; i++)
		end(all[i]);
	free(all);
}

int main(int argc, char **argv)
{
	struct rlimit files = { 200000, 200000 };
	unsigned long nr = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	if (setrlimit(RLIMIT_NOFILE, &files))
		err(1, "setrlimit");
	begin();
	if (argc == 3 && !strcmp(argv[1], "short"))
		many_short(nr);
	else if (argc == 4 && !strcmp(argv[1], "long"))
		many_long(nr, strtoul(argv[3], NULL, 10));
	else
		errx(2, "usage: churn short N | churn long N BYTES");
	return 0;
}
