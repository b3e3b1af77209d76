/* SPDX-License-Identifier: GPL-2.0 */
/* MPTCP sockets of all processes, each once, and how they are printed. */
#ifndef MPS_SOCKETS_H
#define MPS_SOCKETS_H

#include "bpf/records.h"
#include "cli/error.h"
#include "cli/output.h"

struct sockets {
	struct mps_sock_rec *rec; /* sorted by identity, one per socket */
	unsigned int nr;
};

struct inventory; /* the skeleton of bpf/inventory.bpf.c */

/* Loads the program, once for many readings. */
enum exit_code sockets_open(struct inventory **skel);
void sockets_close(struct inventory *skel);
/* The caller frees it in any case. */
enum exit_code sockets_walk(struct sockets *s, struct inventory *skel);

/* All three, for one reading. */
enum exit_code sockets_read(struct sockets *s);
void sockets_free(struct sockets *s);

bool sock_is_listener(const struct mps_sock_rec *rec);
/* Carries a connection, or is about to. */
bool sock_is_connection(const struct mps_sock_rec *rec);

/*
 * How many there are of a scheduler. Of those that have had its name, one after the other, the one
 * in this map is meant; 0: any of them.
 */
unsigned int sockets_count(const struct sockets *s, bool (*kind)(const struct mps_sock_rec *),
			   const char *sched, __u32 ops_map);

/* "10.0.0.1:80", "[fe80::1]:80"; an IPv4 address in IPv6 form as IPv4. */
const char *addr_text(const struct mps_addr *a, char *buf, size_t size);
const char *state_name(unsigned int tcp_state);

/* {"pid", "command", "netns", "local", "scheduler"} */
void output_listener(output_t *item, const struct mps_sock_rec *rec, const char *netns);
extern const struct output_col listener_cols[];

#endif /* MPS_SOCKETS_H */
