// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "kernel/netns.h"
#include "sched/steer_fields.h"
#include "sched/steer_values.h"

#define CGROUPS "/sys/fs/cgroup"
#define MAPPED_BITS 96

static bool no(char *why, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool no(char *why, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, STEER_WHY, fmt, args);
	va_end(args);
	return false;
}

bool value_number(__u64 *number, const char *text, __u64 max, char *why)
{
	const bool hex = !strncmp(text, "0x", 2);
	const char *digits = text + (hex ? 2 : 0);
	const size_t len = strlen(digits);

	errno = 0;
	*number = strtoull(digits, NULL, hex ? 16 : 10);
	if (len && len < 20 &&
	    strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789") == len && !errno &&
	    *number <= max)
		return true;
	return no(why, "not a number from 0 to %llu: %s", (unsigned long long)max, text);
}

/* As many leading bits as that, in network order. */
static void mask_of(__u64 *mask, unsigned int bits)
{
	unsigned char *byte = (unsigned char *)mask;
	unsigned int i;

	for (i = 0; i < 16; i++) {
		unsigned int here = bits > 8 * i ? bits - 8 * i : 0;

		byte[i] = here >= 8 ? 0xff : (unsigned char)(0xff00 >> here);
	}
}

bool value_prefix(__u64 *addr, __u64 *mask, const char *text, char *why)
{
	const char *slash = strchr(text, '/');
	unsigned char byte[16] = { 0 };
	char host[64];
	unsigned int all = 128;
	__u64 length;

	snprintf(host, sizeof(host), "%.*s", slash && slash - text < 63 ? (int)(slash - text) : 63,
		 text);
	if (inet_pton(AF_INET, host, byte + 12) == 1) {
		byte[10] = byte[11] = 0xff;
		all = 32;
	} else if (inet_pton(AF_INET6, host, byte) != 1) {
		return no(why, "not an address or a prefix: %s", text);
	}
	length = all;
	if (slash && !value_number(&length, slash + 1, all, why))
		return no(why, "the length of a prefix is 0 to %u: %s", all, text);
	mask_of(mask, (unsigned int)length + (all == 32 ? MAPPED_BITS : 0));
	memcpy(addr, byte, sizeof(byte));
	if ((addr[0] & ~mask[0]) | (addr[1] & ~mask[1]))
		return no(why, "there is more in the address than its first %llu bits: %s",
			  (unsigned long long)length, text);
	return true;
}

void text_prefix(const __u64 *addr, const __u64 *mask, char *buf, size_t size)
{
	const unsigned char *byte = (const unsigned char *)addr;
	const unsigned int bits =
		(unsigned int)(__builtin_popcountll(mask[0]) + __builtin_popcountll(mask[1]));
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	const bool v4 = bits >= MAPPED_BITS && !memcmp(byte, mapped, sizeof(mapped));
	const unsigned int all = v4 ? 32 : 128, length = bits - (v4 ? MAPPED_BITS : 0);
	char host[INET6_ADDRSTRLEN];

	inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? byte + 12 : byte, host, sizeof(host));
	if (length == all)
		snprintf(buf, size, "%s", host);
	else
		snprintf(buf, size, "%s/%u", host, length);
}

bool value_ports(__u16 *range, const char *text, char *why)
{
	const char *dash = strchr(text, '-');
	char first[32];
	__u64 from, to;

	snprintf(first, sizeof(first), "%.*s", dash ? (int)(dash - text) : 31, text);
	if (!value_number(&from, first, 65535, why) ||
	    !value_number(&to, dash ? dash + 1 : first, 65535, why))
		return no(why, "not a port or FROM-TO, from 0 to 65535: %s", text);
	if (from > to)
		return no(why, "the first port is greater than the last: %s", text);
	range[0] = (__u16)from;
	range[1] = (__u16)to;
	return true;
}

void text_ports(const __u16 *range, char *buf, size_t size)
{
	if (range[0] == range[1])
		snprintf(buf, size, "%u", range[0]);
	else
		snprintf(buf, size, "%u-%u", range[0], range[1]);
}

/* IANA's registry of code points */
static const struct {
	const char *name;
	__u32 value;
} dscps[] = {
	{ "cs0", 0 },	{ "cs1", 8 },	{ "cs2", 16 },	{ "cs3", 24 },	{ "cs4", 32 },
	{ "cs5", 40 },	{ "cs6", 48 },	{ "cs7", 56 },	{ "af11", 10 }, { "af12", 12 },
	{ "af13", 14 }, { "af21", 18 }, { "af22", 20 }, { "af23", 22 }, { "af31", 26 },
	{ "af32", 28 }, { "af33", 30 }, { "af41", 34 }, { "af42", 36 }, { "af43", 38 },
	{ "ef", 46 },	{ "le", 1 },	{ "va", 44 },
};

#define NR_DSCPS (sizeof(dscps) / sizeof(dscps[0]))

bool value_dscp(__u32 *dscp, const char *text, char *why)
{
	__u64 number;
	unsigned int i;

	for (i = 0; i < NR_DSCPS; i++) {
		if (!strcasecmp(dscps[i].name, text)) {
			*dscp = dscps[i].value;
			return true;
		}
	}
	if (!value_number(&number, text, 63, why))
		return no(why, "neither a name like ef, af41 or cs1 nor a number from 0 to 63: %s",
			  text);
	*dscp = (__u32)number;
	return true;
}

void text_dscp(__u32 dscp, char *buf, size_t size)
{
	unsigned int i;

	snprintf(buf, size, "%u", dscp);
	for (i = 0; i < NR_DSCPS; i++)
		if (dscps[i].value == dscp)
			snprintf(buf, size, "%s", dscps[i].name);
}

static const struct {
	const char *name;
	__u32 us;
} units[] = { { "s", 1000000 }, { "ms", 1000 }, { "us", 1 } };

#define NR_UNITS (sizeof(units) / sizeof(units[0]))

bool value_time(__u32 *us, const char *text, __u32 max, char *why)
{
	const size_t len = strspn(text, "0123456789");
	char digits[16];
	__u64 number;
	unsigned int i;

	snprintf(digits, sizeof(digits), "%.*s", (int)(len < 15 ? len : 15), text);
	for (i = 0; i < NR_UNITS; i++) {
		if (strcmp(units[i].name, text + len) ||
		    !value_number(&number, digits, max / units[i].us, why))
			continue;
		*us = (__u32)number * units[i].us;
		return true;
	}
	return no(why, "not a time like 200ms, up to %u s: %s", max / 1000000, text);
}

void text_time(__u32 us, char *buf, size_t size)
{
	unsigned int i;

	for (i = 0; us && us % units[i].us; i++)
		;
	snprintf(buf, size, "%u%s", us / units[i].us, units[i].name);
}

bool value_uid(__u32 *uid, const char *text, char *why)
{
	const struct passwd *user = getpwnam(text);
	__u64 number = user ? user->pw_uid : 0;

	if (!user && !value_number(&number, text, ~0U - 1, why))
		return no(why, "no such user: %s", text);
	*uid = (__u32)number;
	return true;
}

bool value_cgroup(__u64 *ids, unsigned int *level, const char *text, char *why)
{
	char path[STEER_TEXT] = CGROUPS, rest[STEER_TEXT], *word, *save = NULL;
	unsigned int n = 0;
	struct stat st;

	memset(ids, 0, MPS_STEER_LEVELS * sizeof(*ids));
	if (!strncmp(text, CGROUPS "/", strlen(CGROUPS "/")))
		text += strlen(CGROUPS);
	if (strlen(text) + sizeof(CGROUPS) + 1 >= STEER_TEXT)
		return no(why, "the path is too long");
	snprintf(rest, sizeof(rest), "%s", text);
	for (word = strtok_r(rest, "/", &save); word; word = strtok_r(NULL, "/", &save)) {
		size_t at = strlen(path);

		if (n == MPS_STEER_LEVELS)
			return no(why, "no more than %u levels below " CGROUPS " can be matched",
				  MPS_STEER_LEVELS);
		snprintf(path + at, sizeof(path) - at, "/%s", word);
		if (!strcmp(word, ".") || !strcmp(word, "..") || stat(path, &st) ||
		    !S_ISDIR(st.st_mode))
			return no(why, "there is no cgroup %s", path);
		ids[n++] = st.st_ino;
	}
	if (!n)
		return no(why, "every process is in the root of cgroups");
	*level = n - 1;
	return true;
}

static struct {
	__u64 id;
	char path[STEER_TEXT];
} wanted;

static int visit(const char *path, const struct stat *st, int type, struct FTW *at)
{
	if (type != FTW_D || st->st_ino != wanted.id)
		return 0;
	snprintf(wanted.path, sizeof(wanted.path), "%s", path + strlen(CGROUPS));
	return 1;
}

void text_cgroup(__u64 id, char *buf, size_t size)
{
	wanted.id = id;
	wanted.path[0] = '\0';
	if (nftw(CGROUPS, visit, 16, FTW_PHYS | FTW_MOUNT) == 1)
		snprintf(buf, size, "%s", wanted.path);
	else
		snprintf(buf, size, "(gone:%llu)", (unsigned long long)id);
}

bool value_netns(__u32 *inode, const char *text, char *why)
{
	struct stat st;
	char path[STEER_TEXT];
	__u64 pid;

	if (strchr(text, '/'))
		snprintf(path, sizeof(path), "%s", text);
	else if (value_number(&pid, text, 1U << 30, why))
		snprintf(path, sizeof(path), "/proc/%s/ns/net", text);
	else
		snprintf(path, sizeof(path), NETNS_DIR "/%s", text);
	if (stat(path, &st))
		return no(why, "no network namespace %s: %s", text, strerror(errno));
	*inode = (__u32)st.st_ino;
	return true;
}

void text_netns(__u32 inode, char *buf, size_t size)
{
	struct netns_list all;
	struct netns *ns;

	netns_names(&all);
	ns = netns_find(&all, inode);
	if (ns && *ns->name)
		snprintf(buf, size, "%s", ns->name);
	else if (ns && ns->pid)
		snprintf(buf, size, "%d", (int)ns->pid);
	else
		snprintf(buf, size, "(gone:%u)", inode);
	netns_free(&all);
}
