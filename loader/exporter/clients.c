// SPDX-License-Identifier: GPL-2.0
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include "cli/util.h"
#include "exporter/clients.h"

struct client {
	TAILQ_ENTRY(client) place;
	int fd;
	bool leaving;
};

void clients_init(struct clients *c)
{
	TAILQ_INIT(&c->queue);
	c->nr = 0;
}

/* To libmicrohttpd it is as if the other end had hung up. */
static void send_away(struct clients *c, struct client *client)
{
	client->leaving = true;
	TAILQ_REMOVE(&c->queue, client, place);
	c->nr--;
	shutdown(client->fd, SHUT_RDWR);
}

static struct client *add(struct clients *c, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct client *client = calloc(1, sizeof(*client));

	if (!client)
		out_of_memory();
	client->fd = info ? info->connect_fd : -1;
	if (c->nr == MAX_CLIENTS)
		send_away(c, TAILQ_FIRST(&c->queue));
	TAILQ_INSERT_TAIL(&c->queue, client, place);
	c->nr++;
	return client;
}

void clients_notify(void *clients, struct MHD_Connection *connection, void **context,
		    enum MHD_ConnectionNotificationCode what)
{
	struct clients *c = clients;
	struct client *client = *context;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		*context = add(c, connection);
		return;
	}
	if (client && !client->leaving) {
		TAILQ_REMOVE(&c->queue, client, place);
		c->nr--;
	}
	free(client);
	*context = NULL;
}

void clients_asked(struct clients *c, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct client *client = info ? info->socket_context : NULL;

	if (!client || client->leaving)
		return;
	TAILQ_REMOVE(&c->queue, client, place);
	TAILQ_INSERT_TAIL(&c->queue, client, place);
}
