// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "util.h"
#include "world.h"

static void tally(struct world *w)
{
	unsigned int i;

	w->tally = calloc(w->namespaces.nr + 1, sizeof(*w->tally));
	if (!w->tally)
		out_of_memory();
	for (i = 0; i < w->sockets.nr; i++) {
		const struct mps_sock_rec *rec = &w->sockets.rec[i];
		struct netns *ns = netns_find(&w->namespaces, rec->netns);
		struct tally *t = ns ? &w->tally[ns - w->namespaces.ns] : NULL;

		if (t && sock_is_connection(rec))
			t->connections++;
		else if (t && sock_is_listener(rec))
			t->listeners++;
	}
}

enum exit_code world_read(struct world *w, const char *operation)
{
	enum exit_code ret;

	memset(w, 0, sizeof(*w));
	registry_read(&w->schedulers);
	netns_read(&w->namespaces);
	ret = sockets_read(&w->sockets, operation);
	if (ret == EX_OK)
		tally(w);
	return ret;
}

void world_free(struct world *w)
{
	registry_free(&w->schedulers);
	netns_free(&w->namespaces);
	sockets_free(&w->sockets);
	free(w->tally);
}

unsigned int world_users(struct world *w, const char *sched, char *labels, size_t size)
{
	unsigned int i, n = 0;
	size_t at = 0;
	char label[256];

	*labels = '\0';
	for (i = 0; i < w->namespaces.nr; i++) {
		const struct netns *ns = &w->namespaces.ns[i];

		if (strcmp(ns->sched, sched))
			continue;
		if (at < size)
			at += (size_t)snprintf(labels + at, size - at, "%s%s", n ? ", " : "",
					       netns_label(ns, label, sizeof(label)));
		n++;
	}
	return n;
}

void out_users(out_t *list, const struct netns_list *l, const char *sched)
{
	char label[256];
	unsigned int i;

	for (i = 0; i < l->nr; i++)
		if (!strcmp(l->ns[i].sched, sched))
			out_word(list, netns_label(&l->ns[i], label, sizeof(label)));
}

void out_listeners(out_t *list, struct world *w, unsigned long netns, const char *sched, bool is)
{
	char label[256];
	unsigned int i;

	for (i = 0; i < w->sockets.nr; i++) {
		const struct mps_sock_rec *rec = &w->sockets.rec[i];
		struct netns *ns;

		if (!sock_is_listener(rec) || (netns && rec->netns != netns) ||
		    !strcmp(rec->sched, sched) != is)
			continue;
		ns = netns_find(&w->namespaces, rec->netns);
		if (ns)
			netns_label(ns, label, sizeof(label));
		else
			snprintf(label, sizeof(label), "(inode %u)", rec->netns);
		out_listener(out_item(list), rec, label);
	}
}
