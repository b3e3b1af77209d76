/* SPDX-License-Identifier: GPL-2.0 */
/* What MPTCP's path manager tells of connections and subflows of a network namespace. */
#ifndef MPS_PM_EVENTS_H
#define MPS_PM_EVENTS_H

#include <stdbool.h>
#include "bpf/records.h"
#include "kernel/netns.h"

struct mnl_socket;

struct pm_event {
	unsigned int type; /* enum mptcp_event_type of linux/mptcp_pm.h */
	__u32 token;
	bool has_ends; /* local and remote are known */
	struct mps_addr local, remote;
	bool has_ids; /* of the addresses, on either side */
	__u8 local_id, remote_id;
	bool server;
	__u8 backup;
	__u32 error;	    /* errno of a subflow that was closed, or 0 */
	__u32 reset_reason; /* of RFC 8684, with has_reset */
	bool has_reset;
};

/* Joins the group of the namespace; takes CAP_NET_ADMIN there. */
enum exit_code pm_open(struct mnl_socket **nl, const struct netns *ns);
void pm_close(struct mnl_socket *nl);
int pm_fd(const struct mnl_socket *nl);

/* Calls it for each event that has come; 0, or a negative errno: -ENOBUFS, some were lost. */
int pm_read(struct mnl_socket *nl, void (*call)(const struct pm_event *e, void *arg), void *arg);

#endif /* MPS_PM_EVENTS_H */
