// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <grp.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "exporter/listen.h"

#define UNIX "unix:"
/* Many at once are not for the kernel to turn away: who was last has the best claim. */
#define BACKLOG 1024
#define HINT_ADDRESS "give ADDR:PORT, [ADDR]:PORT, :PORT or unix:PATH"

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un un;
};

static enum exit_code explain(int err)
{
	switch (err) {
	case EADDRINUSE:
		return fail(EX_FAILED, "choose another, or end what has it",
			    "the address is in use");
	case EADDRNOTAVAIL:
		return fail(EX_FAILED, "`ip address` shows what there is",
			    "no interface of this network namespace has the address");
	case EACCES:
	case EPERM:
		return fail(EX_PERMISSION,
			    "take a port from 1024 on, or a directory that you may write to",
			    "no permission for that port or path");
	case EAFNOSUPPORT:
		return fail(EX_FAILED, "take another family's address",
			    "the kernel lacks addresses of that kind");
	default:
		return fail(code_of(err), NULL, "%s", strerror(err));
	}
}

/* Is somebody listening there, or did somebody die without taking it away? */
static bool is_left_over(const struct sockaddr_un *un)
{
	struct stat st;
	bool dead;
	int fd;

	if (lstat(un->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	dead = connect(fd, (const struct sockaddr *)un, sizeof(*un)) && errno == ECONNREFUSED;
	close(fd);
	return dead;
}

static enum exit_code parse_unix(const char *text, union address *a, socklen_t *len)
{
	const char *path = text + strlen(UNIX);

	if (*path != '/' || strlen(path) >= sizeof(a->un.sun_path))
		return fail(EX_USAGE, HINT_ADDRESS,
			    "the path has to begin with / and to be shorter than %zu bytes",
			    sizeof(a->un.sun_path));
	a->un.sun_family = AF_UNIX;
	strcpy(a->un.sun_path, path);
	*len = sizeof(a->un);
	return EX_OK;
}

static enum exit_code parse_ip(const char *text, union address *a, socklen_t *len)
{
	const char *colon = strrchr(text, ':');
	struct addrinfo want = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
				 .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	char host[128];
	size_t n = colon ? (size_t)(colon - text) : 0;
	const char *port = colon ? colon + 1 : "";

	if (!colon || n >= sizeof(host) || !*port || strlen(port) > 5 ||
	    strspn(port, "0123456789") != strlen(port) || strtoul(port, NULL, 10) > 65535)
		return fail(EX_USAGE, HINT_ADDRESS, "no port from 0 to 65535 in it");
	memcpy(host, text, n);
	host[n] = '\0';
	if (n > 1 && host[0] == '[' && host[n - 1] == ']') {
		host[n - 1] = '\0';
		memmove(host, host + 1, n - 1);
	} else if (strchr(host, ':')) {
		return fail(EX_USAGE, HINT_ADDRESS, "an IPv6 address stands in brackets");
	}
	/* of both families, by the wildcard of IPv6 */
	if (getaddrinfo(n ? host : "::", port, &want, &found) || !found)
		return fail(EX_USAGE, HINT_ADDRESS, "%s is not an IP address", host);
	memcpy(a, found->ai_addr, found->ai_addrlen);
	*len = found->ai_addrlen;
	freeaddrinfo(found);
	return EX_OK;
}

static void describe(int fd, char *where, size_t size)
{
	union address a = { 0 };
	socklen_t len = sizeof(a);
	char ip[INET6_ADDRSTRLEN] = "?";

	getsockname(fd, &a.any, &len);
	if (a.any.sa_family == AF_UNIX) {
		snprintf(where, size, UNIX "%s", a.un.sun_path);
	} else if (a.any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &a.v6.sin6_addr, ip, sizeof(ip));
		snprintf(where, size, "http://[%s]:%u/metrics", ip, ntohs(a.v6.sin6_port));
	} else {
		inet_ntop(AF_INET, &a.v4.sin_addr, ip, sizeof(ip));
		snprintf(where, size, "http://%s:%u/metrics", ip, ntohs(a.v4.sin_port));
	}
}

static int bind_ip(int fd, const union address *a, socklen_t len)
{
	const int on = 1, off = 0;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a->any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	return bind(fd, &a->any, len);
}

/* Whoever may write to it may connect. It has no more rights than that at any time. */
static int bind_unix(int fd, const union address *a, socklen_t len, bool for_group)
{
	const mode_t before = umask(for_group ? 0117 : 0177);
	int ret;

	if (is_left_over(&a->un))
		unlink(a->un.sun_path);
	ret = bind(fd, &a->any, len);
	umask(before);
	return ret;
}

static enum exit_code find_group(const char *name, gid_t *gid)
{
	const struct group *found = getgrnam(name);

	if (found)
		*gid = found->gr_gid;
	else if (*name && strlen(name) < 10 && strspn(name, "0123456789") == strlen(name))
		*gid = (gid_t)strtoul(name, NULL, 10);
	else
		return fail_on(EX_FAILED, name, "`getent group` lists them", "no such group");
	return EX_OK;
}

/* Where another one has put something else in its place, that stays as it is. */
static enum exit_code give_to(const char *path, const char *name, gid_t gid)
{
	if (!lchown(path, (uid_t)-1, gid))
		return EX_OK;
	return fail_on(code_of(errno), name, "run it as root, or as a member of the group",
		       "the socket cannot be given to that group: %s", strerror(errno));
}

/* Until it listens nobody can connect, whatever its group was at first. */
static enum exit_code open_at(int fd, const union address *a, socklen_t len, const char *group)
{
	const bool is_unix = a->any.sa_family == AF_UNIX;
	enum exit_code ret = EX_OK;
	gid_t gid = 0;

	if (group)
		ret = find_group(group, &gid);
	if (ret != EX_OK)
		return ret;
	if (is_unix ? bind_unix(fd, a, len, group) : bind_ip(fd, a, len))
		return explain(errno);
	if (group)
		ret = give_to(a->un.sun_path, group, gid);
	if (ret == EX_OK && listen(fd, BACKLOG))
		ret = explain(errno);
	if (ret != EX_OK && is_unix)
		unlink(a->un.sun_path);
	return ret;
}

bool listen_is_unix(const char *text)
{
	return !strncmp(text, UNIX, strlen(UNIX));
}

enum exit_code listen_at(const char *text, const char *group, int *fd, char *where, size_t size)
{
	ERROR_ABOUT("listen at", text);
	union address a = { 0 };
	socklen_t len = 0;
	enum exit_code ret;

	if (!*text)
		return fail_on(EX_USAGE, "--listen", HINT_ADDRESS, "no address");
	ret = listen_is_unix(text) ? parse_unix(text, &a, &len) : parse_ip(text, &a, &len);
	if (ret != EX_OK)
		return ret;
	if (group && !listen_is_unix(text))
		return fail_on(EX_USAGE, "--socket-group", HINT_ADDRESS, "it is for unix:PATH");
	*fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ret = *fd < 0 ? explain(errno) : open_at(*fd, &a, len, group);
	if (ret == EX_OK)
		describe(*fd, where, size);
	else if (*fd >= 0)
		close(*fd);
	return ret;
}

void listen_done(const char *text)
{
	if (listen_is_unix(text))
		unlink(text + strlen(UNIX));
}
