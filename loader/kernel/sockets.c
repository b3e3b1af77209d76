// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include "bpf/inventory.skel.h"
#include "kernel/iter.h"
#include "kernel/kern.h"
#include "kernel/sockets.h"

static int by_identity(const void *a, const void *b)
{
	const struct mps_sock_rec *x = a, *y = b;

	if (x->sk != y->sk)
		return x->sk < y->sk ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Threads and forked workers share sockets; the oldest process stands for them. */
static void keep_one_each(struct sockets *s)
{
	unsigned int i, kept = 0;

	if (!s->nr)
		return;
	qsort(s->rec, s->nr, sizeof(*s->rec), by_identity);
	for (i = 1; i < s->nr; i++)
		if (s->rec[i].sk != s->rec[kept].sk)
			s->rec[++kept] = s->rec[i];
	s->nr = kept + 1;
}

enum exit_code sockets_open(struct inventory **skel)
{
	enum exit_code ret;

	error_watch_libbpf();
	*skel = inventory__open();
	if (*skel)
		(*skel)->rodata->fallback_bit = kern_fallback_bit();
	if (*skel && !inventory__load(*skel))
		return EX_OK;
	ret = fail_on(code_of(errno), "MPTCP sockets", "run again with -v",
		      "the kernel refused the program that lists them (%s)%s", strerror(errno),
		      libbpf_reason());
	inventory__destroy(*skel);
	*skel = NULL;
	return ret;
}

void sockets_close(struct inventory *skel)
{
	inventory__destroy(skel);
}

enum exit_code sockets_walk(struct sockets *s, struct inventory *skel)
{
	memset(s, 0, sizeof(*s));
	s->rec = iter_read(skel->progs.sockets, sizeof(*s->rec), &s->nr);
	if (!s->rec)
		return fail_on(code_of(errno), "MPTCP sockets", "run again with -v",
			       "reading the list failed: %s", strerror(errno));
	keep_one_each(s);
	return EX_OK;
}

enum exit_code sockets_read(struct sockets *s)
{
	struct inventory *skel;
	enum exit_code ret;

	memset(s, 0, sizeof(*s));
	ret = sockets_open(&skel);
	if (ret != EX_OK)
		return ret;
	ret = sockets_walk(s, skel);
	sockets_close(skel);
	return ret;
}

void sockets_free(struct sockets *s)
{
	free(s->rec);
	memset(s, 0, sizeof(*s));
}

bool sock_is_listener(const struct mps_sock_rec *rec)
{
	return rec->state == TCP_LISTEN;
}

bool sock_is_connection(const struct mps_sock_rec *rec)
{
	return rec->state != TCP_LISTEN && rec->state != TCP_CLOSE;
}

unsigned int sockets_count(const struct sockets *s, bool (*kind)(const struct mps_sock_rec *),
			   const char *sched, __u32 ops_map)
{
	unsigned int i, n = 0;

	for (i = 0; i < s->nr; i++)
		n += kind(&s->rec[i]) && !strcmp(s->rec[i].sched, sched) &&
		     (!ops_map || s->rec[i].ops_map == ops_map);
	return n;
}

/* Decimal digits from at on; returns where they end. Lists of thousands are full of these. */
static char *put_number(char *at, unsigned int n)
{
	char digits[10];
	unsigned int i = 0;

	do {
		digits[i++] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	while (i)
		*at++ = digits[--i];
	return at;
}

static const char *v4_text(const __u8 *ip, unsigned int port, char *buf, size_t size)
{
	char text[24], *at = text;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		at = put_number(at, ip[i]);
		*at++ = i < 3 ? '.' : ':';
	}
	at = put_number(at, port);
	*at = '\0';
	if ((size_t)(at - text) < size)
		memcpy(buf, text, (size_t)(at - text) + 1);
	else
		*buf = '\0';
	return buf;
}

const char *addr_text(const struct mps_addr *a, char *buf, size_t size)
{
	static const __u8 v4_mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	char ip[INET6_ADDRSTRLEN] = "?";

	if (a->family != AF_INET6)
		return v4_text(a->ip, a->port, buf, size);
	if (!memcmp(a->ip, v4_mapped, sizeof(v4_mapped)))
		return v4_text(a->ip + 12, a->port, buf, size);
	inet_ntop(AF_INET6, a->ip, ip, sizeof(ip));
	snprintf(buf, size, "[%s]:%u", ip, a->port);
	return buf;
}

const char *state_name(unsigned int tcp_state)
{
	static const char *const names[] = {
		[TCP_ESTABLISHED] = "established",
		[TCP_SYN_SENT] = "syn-sent",
		[TCP_SYN_RECV] = "syn-recv",
		[TCP_FIN_WAIT1] = "fin-wait-1",
		[TCP_FIN_WAIT2] = "fin-wait-2",
		[TCP_TIME_WAIT] = "time-wait",
		[TCP_CLOSE] = "closed",
		[TCP_CLOSE_WAIT] = "close-wait",
		[TCP_LAST_ACK] = "last-ack",
		[TCP_LISTEN] = "listening",
		[TCP_CLOSING] = "closing",
	};
	const unsigned int nr = sizeof(names) / sizeof(names[0]);

	return tcp_state < nr && names[tcp_state] ? names[tcp_state] : "other";
}

const struct output_col listener_cols[] = {
	{ "pid", "PID", OUTPUT_RIGHT },	     { "command", "COMMAND", OUTPUT_LEFT },
	{ "local", "ADDRESS", OUTPUT_LEFT }, { "scheduler", "KEEPS", OUTPUT_LEFT },
	{ NULL, NULL, OUTPUT_LEFT },
};

void output_listener(output_t *item, const struct mps_sock_rec *rec, const char *netns)
{
	char addr[64];

	output_num(item, "pid", rec->pid);
	output_str(item, "command", "%.16s", rec->comm);
	output_str(item, "netns", "%s", netns);
	output_str(item, "local", "%s", addr_text(&rec->local, addr, sizeof(addr)));
	output_str(item, "scheduler", "%.*s", MPS_NAME_LEN, rec->sched);
}
