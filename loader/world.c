// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <string.h>
#include "world.h"

enum exit_code world_read(struct world *w, const char *operation)
{
	memset(w, 0, sizeof(*w));
	registry_read(&w->schedulers);
	netns_read(&w->namespaces);
	return sockets_read(&w->sockets, operation);
}

void world_free(struct world *w)
{
	registry_free(&w->schedulers);
	netns_free(&w->namespaces);
	sockets_free(&w->sockets);
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
