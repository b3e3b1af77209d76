// SPDX-License-Identifier: GPL-2.0
/*
 * many NAMESPACES CONNECTIONS SCHEDULER: network namespaces manyN (below /run/netns), each with
 * that many MPTCP connections over its loopback, a byte in each direction. Says "ready". For each
 * byte of its input all connections have one more in each direction; then it says "said". It takes
 * everything away again when its input ends.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <linux/mptcp.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef SOL_MPTCP
#define SOL_MPTCP 284
#endif

static unsigned int made;

static struct pair {
	int client, server;
} *pairs;
static unsigned int nr_pairs;

static void path_of(unsigned int i, char *path, size_t size)
{
	snprintf(path, size, "/run/netns/many%u", i);
}

static void up(void)
{
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &ifr))
		err(1, "lo");
	close(fd);
}

static void choose(const char *sched)
{
	int fd = open("/proc/sys/net/mptcp/scheduler", O_WRONLY);

	if (fd < 0 || write(fd, sched, strlen(sched)) < 0)
		err(1, "scheduler %s", sched);
	close(fd);
}

static void enter_new(unsigned int i)
{
	char path[64];
	int fd;

	path_of(i, path, sizeof(path));
	if (unshare(CLONE_NEWNET))
		err(1, "unshare");
	fd = open(path, O_CREAT | O_EXCL | O_RDONLY, 0444);
	if (fd < 0)
		err(1, "%s", path);
	made = i + 1;
	if (mount("/proc/self/ns/net", path, "none", MS_BIND, NULL))
		err(1, "mount %s", path);
	close(fd);
}

/* Also when something fails: the next test must find the machine as it was. */
static void take_away(void)
{
	char path[64];

	while (made--) {
		path_of(made, path, sizeof(path));
		umount2(path, MNT_DETACH);
		unlink(path);
	}
}

static void byte(int from, int to)
{
	char c = 'x';

	if (send(from, &c, 1, 0) != 1 || recv(to, &c, 1, 0) != 1)
		err(1, "a byte");
}

/* The table of tokens has room for four per MB of memory at most, then connections are TCP's. */
static void check_is_mptcp(int fd)
{
	struct mptcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, SOL_MPTCP, MPTCP_INFO, &info, &len) ||
	    info.mptcpi_flags & MPTCP_INFO_FLAG_FALLBACK)
		errx(1, "a connection fell back to TCP: the guest has too little memory");
}

static void both_ways(const struct pair *p)
{
	byte(p->client, p->server);
	byte(p->server, p->client);
}

/* The sockets stay open. */
static void connect_all(unsigned int nr)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);
	int listener = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	unsigned int i;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (listener < 0 || bind(listener, (struct sockaddr *)&a, len) || listen(listener, 16) ||
	    getsockname(listener, (struct sockaddr *)&a, &len))
		err(1, "listener");
	for (i = 0; i < nr; i++) {
		struct pair *p = &pairs[nr_pairs++];

		p->client = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
		if (p->client < 0 || connect(p->client, (struct sockaddr *)&a, len))
			err(1, "connection %u", i);
		p->server = accept(listener, NULL, NULL);
		if (p->server < 0)
			err(1, "accept");
		check_is_mptcp(p->server);
		both_ways(p);
	}
}

int main(int argc, char **argv)
{
	struct rlimit files = { 200000, 200000 };
	unsigned int i, nr, each;
	char c;

	if (argc != 4)
		errx(2, "usage: many NAMESPACES CONNECTIONS SCHEDULER");
	nr = (unsigned int)atoi(argv[1]);
	each = (unsigned int)atoi(argv[2]);
	pairs = calloc((size_t)nr * each, sizeof(*pairs));
	if (!pairs)
		err(1, "%u connections", nr * each);
	if (setrlimit(RLIMIT_NOFILE, &files) || atexit(take_away))
		err(1, "setrlimit, atexit");
	for (i = 0; i < nr; i++) {
		enter_new(i);
		up();
		choose(argv[3]);
		connect_all(each);
	}
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0) {
		for (i = 0; i < nr_pairs; i++)
			both_ways(&pairs[i]);
		puts("said");
		fflush(stdout);
	}
	return 0;
}
