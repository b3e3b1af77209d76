// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include "cli/output.h"
#include "sched/steer_turn.h"

#define HINT_OTHER "give the path a `local` prefix or an `id`, and leave its device out"

static bool is_global(const struct sockaddr *addr)
{
	const struct sockaddr_in6 *v6 = (const void *)addr;

	if (!addr || (addr->sa_family != AF_INET && addr->sa_family != AF_INET6))
		return false;
	return addr->sa_family == AF_INET || !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr);
}

/* The address alone, as a remote prefix. */
static void take_address(struct mps_steer_path *p, const struct sockaddr *addr)
{
	char text[INET6_ADDRSTRLEN];
	struct steer_why why;

	if (addr->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)addr)->sin_addr, text,
			  sizeof(text));
	else
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)addr)->sin6_addr, text,
			  sizeof(text));
	value_prefix(p->ends.remote, p->ends.remote_mask, text, &why);
}

/* Rows have names of their own: behind the first one's is a number. */
static void number_name(char *name, unsigned int number)
{
	char tail[12];
	size_t at;

	snprintf(tail, sizeof(tail), "-%u", number);
	at = strnlen(name, MPS_STEER_NAME - 1 - strlen(tail));
	snprintf(name + at, MPS_STEER_NAME - at, "%s", tail);
}

static enum exit_code add_turned(struct mps_steer_table *peer, const struct mps_steer_path *p,
				 unsigned int number)
{
	struct mps_steer_path one = *p;

	if (number > 1)
		number_name(one.name, number);
	return steer_add_path(peer, &one);
}

/* A row for each address that the device has. */
static enum exit_code add_addresses(struct mps_steer_table *peer, struct mps_steer_path *p,
				    const char *device)
{
	enum exit_code ret = EX_OK;
	unsigned int nr = 0;
	struct ifaddrs *all, *a;

	if (getifaddrs(&all))
		return fail(code_of(errno), NULL, "the addresses of devices cannot be read: %s",
			    strerror(errno));
	for (a = all; a && ret == EX_OK; a = a->ifa_next) {
		if (strcmp(a->ifa_name, device) || !is_global(a->ifa_addr))
			continue;
		take_address(p, a->ifa_addr);
		ret = add_turned(peer, p, ++nr);
	}
	freeifaddrs(all);
	if (ret == EX_OK && !nr)
		return fail(EX_FAILED, HINT_OTHER,
			    "path %s: device %s has no address here by which a peer would know it",
			    p->name, device);
	if (ret == EX_OK && nr > 1 && p->account.cap)
		output_note("path %s has %u addresses, and each of them the whole cap there",
			    p->name, nr);
	return ret;
}

static enum exit_code turn_path(struct mps_steer_table *peer, const struct mps_steer_path *p)
{
	char device[MPS_STEER_DEVICE + 1] = "";
	struct mps_steer_path turned = *p;
	const bool known =
		p->ends.local_mask[0] | p->ends.local_mask[1] || p->local_id != MPS_STEER_ANY_ID;

	memcpy(device, p->device, MPS_STEER_DEVICE);
	memset(turned.device, 0, sizeof(turned.device));
	memcpy(turned.ends.local, p->ends.remote, sizeof(p->ends.remote));
	memcpy(turned.ends.local_mask, p->ends.remote_mask, sizeof(p->ends.remote_mask));
	memcpy(turned.ends.remote, p->ends.local, sizeof(p->ends.local));
	memcpy(turned.ends.remote_mask, p->ends.local_mask, sizeof(p->ends.local_mask));
	turned.local_id = p->remote_id;
	turned.remote_id = p->local_id;
	if (*device && !known)
		return add_addresses(peer, &turned, device);
	return add_turned(peer, &turned, 1);
}

enum exit_code steer_turn_paths(struct mps_steer_table *peer, const struct mps_steer_table *t)
{
	enum exit_code ret = EX_OK;
	unsigned int i;

	for (i = 0; i < t->nr_paths && ret == EX_OK; i++)
		ret = turn_path(peer, &t->path[i]);
	return ret;
}
