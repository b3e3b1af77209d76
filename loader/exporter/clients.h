/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connections to the exporter. Libmicrohttpd takes no more at its limit, so whoever opens that many
 * and says nothing would keep everybody else out. Before it comes to that, the one that has gone
 * longest without a request makes room.
 */
#ifndef MPS_CLIENTS_H
#define MPS_CLIENTS_H

#include <microhttpd.h>
#include <sys/queue.h>

/* Open at a time, and what libmicrohttpd may have beyond that until it has closed them. */
#define MAX_CLIENTS 64
#define CLIENTS_LIMIT (2 * MAX_CLIENTS)

/* Without a byte either way. */
#define CLIENT_TIMEOUT_S 5

struct client;
TAILQ_HEAD(clients_queue, client);

struct clients {
	struct clients_queue queue; /* the one that has waited longest first */
	unsigned int nr;
};

void clients_init(struct clients *c);

/* For MHD_OPTION_NOTIFY_CONNECTION, with a struct clients. */
void clients_notify(void *clients, struct MHD_Connection *connection, void **context,
		    enum MHD_ConnectionNotificationCode what);

/* It has made a request. */
void clients_asked(struct clients *c, struct MHD_Connection *connection);

#endif /* MPS_CLIENTS_H */
