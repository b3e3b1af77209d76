// SPDX-License-Identifier: GPL-2.0
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <arpa/inet.h>
#include "exporter/host.h"

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define LONGEST 253

/* What stands before the port, without brackets; false: that is none of a host. */
static bool cut(const char *header, char *host, size_t size, bool *brackets)
{
	const char *end;
	size_t len;

	*brackets = *header == '[';
	header += *brackets;
	len = strcspn(header, *brackets ? "]" : ":");
	end = header + len;
	if (*brackets && *end++ != ']')
		return false;
	if (*end == ':')
		end += 1 + strspn(end + 1, DIGITS);
	if (*end || len >= size)
		return false;
	memcpy(host, header, len);
	host[len] = '\0';
	return true;
}

/* With a dot behind it or without, as DNS has it. */
static bool is_same(const char *host, const char *name)
{
	const size_t len = strlen(name), n = len && name[len - 1] == '.' ? len - 1 : len;

	return n && !strncasecmp(host, name, n) && (!host[n] || !strcmp(host + n, "."));
}

bool host_is_name(const char *text)
{
	return *text && strlen(text) <= LONGEST &&
	       strspn(text, LETTERS DIGITS "-_.") == strlen(text);
}

bool host_is_ours(const char *header, const char *const *names, unsigned int nr)
{
	char host[LONGEST + 2], own[HOST_NAME_MAX + 1] = "";
	struct in6_addr address;
	bool brackets;
	unsigned int i;

	if (!header)
		return true;
	if (!cut(header, host, sizeof(host), &brackets))
		return false;
	if (brackets)
		return inet_pton(AF_INET6, host, &address) == 1;
	if (inet_pton(AF_INET, host, &address) == 1 || is_same(host, "localhost"))
		return true;
	/* it may have changed since the last request */
	gethostname(own, sizeof(own) - 1);
	for (i = 0; i < nr; i++)
		if (is_same(host, names[i]))
			return true;
	return is_same(host, own);
}
