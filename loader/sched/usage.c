// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/util.h"
#include "sched/usage.h"

static void tally(struct usage *u)
{
	unsigned int i;

	u->tally = calloc(u->namespaces.nr + 1, sizeof(*u->tally));
	if (!u->tally)
		out_of_memory();
	for (i = 0; i < u->sockets.nr; i++) {
		const struct mps_sock_rec *rec = &u->sockets.rec[i];
		struct netns *ns = netns_find(&u->namespaces, rec->netns);
		struct tally *t = ns ? &u->tally[ns - u->namespaces.ns] : NULL;

		if (t && sock_is_connection(rec))
			t->connections++;
		else if (t && sock_is_listener(rec))
			t->listeners++;
	}
}

enum exit_code usage_read(struct usage *u)
{
	enum exit_code ret;

	memset(u, 0, sizeof(*u));
	registry_read(&u->schedulers);
	netns_read(&u->namespaces);
	ret = sockets_read(&u->sockets);
	if (ret == EX_OK)
		tally(u);
	return ret;
}

void usage_free(struct usage *u)
{
	registry_free(&u->schedulers);
	netns_free(&u->namespaces);
	sockets_free(&u->sockets);
	free(u->tally);
}

unsigned int usage_selected_in(struct usage *u, const char *sched, char *labels, size_t size)
{
	unsigned int i, n = 0;
	size_t at = 0;
	char label[256];

	*labels = '\0';
	for (i = 0; i < u->namespaces.nr; i++) {
		const struct netns *ns = &u->namespaces.ns[i];

		if (strcmp(ns->sched, sched))
			continue;
		if (at < size)
			at += (size_t)snprintf(labels + at, size - at, "%s%s", n ? ", " : "",
					       netns_label(ns, label, sizeof(label)));
		n++;
	}
	return n;
}

void output_users(output_t *list, const struct netns_list *l, const char *sched)
{
	char label[256];
	unsigned int i;

	for (i = 0; i < l->nr; i++)
		if (!strcmp(l->ns[i].sched, sched))
			output_word(list, netns_label(&l->ns[i], label, sizeof(label)));
}

void output_listeners(output_t *list, struct usage *u, unsigned long netns, const char *sched,
		      bool is)
{
	char label[256];
	unsigned int i;

	for (i = 0; i < u->sockets.nr; i++) {
		const struct mps_sock_rec *rec = &u->sockets.rec[i];
		struct netns *ns;

		if (!sock_is_listener(rec) || (netns && rec->netns != netns) ||
		    !strcmp(rec->sched, sched) != is)
			continue;
		ns = netns_find(&u->namespaces, rec->netns);
		if (ns)
			netns_label(ns, label, sizeof(label));
		else
			snprintf(label, sizeof(label), "(inode %u)", rec->netns);
		output_listener(output_item(list), rec, label);
	}
}
