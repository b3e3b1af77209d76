// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/mptcp.h>
#include "kernel/pm_events.h"

/* As much as the kernel may have to say before somebody listens. */
#define BUFFER_BYTES (4 << 20)

/* netns_open() has no argument for its callback */
static struct mnl_socket *opened;

static int open_netlink(int flags)
{
	opened = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC | flags);
	return opened ? mnl_socket_get_fd(opened) : -errno;
}

/* The id of the group whose attributes these are, or 0. */
static __u32 group_id(const struct nlattr *group)
{
	const struct nlattr *attr;
	bool is_ours = false;
	__u32 id = 0;

	mnl_attr_for_each_nested(attr, group)
	{
		if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_NAME)
			is_ours = !strcmp(mnl_attr_get_str(attr), MPTCP_PM_EV_GRP_NAME);
		else if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_ID)
			id = mnl_attr_get_u32(attr);
	}
	return is_ours ? id : 0;
}

static int on_family(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *attr, *group;
	__u32 *id = data;

	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr))
	{
		if (mnl_attr_get_type(attr) != CTRL_ATTR_MCAST_GROUPS)
			continue;
		mnl_attr_for_each_nested(group, attr) *id = *id ?: group_id(group);
	}
	return MNL_CB_OK;
}

/* 0 or a negative errno. */
static int find_group(struct mnl_socket *nl, __u32 *id)
{
	char buf[8192];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *genl;
	ssize_t n;

	nlh->nlmsg_type = GENL_ID_CTRL;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	genl->cmd = CTRL_CMD_GETFAMILY;
	genl->version = 1;
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, MPTCP_PM_NAME);
	*id = 0;
	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	n = mnl_socket_recvfrom(nl, buf, sizeof(buf));
	if (n < 0 || mnl_cb_run(buf, (size_t)n, 0, 0, on_family, id) < 0)
		return -errno;
	return *id ? 0 : -ENOENT;
}

static int join(struct mnl_socket *nl)
{
	const int bytes = BUFFER_BYTES;
	__u32 group;
	int err;

	if (mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID))
		return -errno;
	err = find_group(nl, &group);
	if (err)
		return err;
	/* without it fewer fit, no more */
	setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	return mnl_socket_setsockopt(nl, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) ? -errno
											: 0;
}

enum exit_code pm_open(struct mnl_socket **nl, const struct netns *ns)
{
	int err = netns_open(ns, open_netlink, 0);

	if (err >= 0) {
		*nl = opened;
		err = join(*nl);
		if (!err)
			return EX_OK;
		pm_close(*nl);
		*nl = NULL;
	}
	if (err == -ENOENT)
		return fail_on(EX_KERNEL, "MPTCP's path manager",
			       "`" PROGRAM " doctor` says what to do",
			       "the kernel has no events of it");
	return fail_on(code_of(-err), "MPTCP's path manager", NULL, "its events cannot be had: %s",
		       strerror(-err));
}

void pm_close(struct mnl_socket *nl)
{
	mnl_socket_close(nl);
}

int pm_fd(const struct mnl_socket *nl)
{
	return mnl_socket_get_fd(nl);
}

static void take_ip(struct mps_addr *a, const struct nlattr *attr, size_t size)
{
	if (mnl_attr_get_payload_len(attr) >= size)
		memcpy(a->ip, mnl_attr_get_payload(attr), size);
}

static void take(struct pm_event *e, const struct nlattr *attr)
{
	switch (mnl_attr_get_type(attr)) {
	case MPTCP_ATTR_TOKEN:
		e->token = mnl_attr_get_u32(attr);
		break;
	case MPTCP_ATTR_FAMILY:
		e->local.family = e->remote.family = mnl_attr_get_u16(attr);
		e->has_ends = true;
		break;
	case MPTCP_ATTR_SADDR4:
		take_ip(&e->local, attr, 4);
		break;
	case MPTCP_ATTR_SADDR6:
		take_ip(&e->local, attr, 16);
		break;
	case MPTCP_ATTR_DADDR4:
		take_ip(&e->remote, attr, 4);
		break;
	case MPTCP_ATTR_DADDR6:
		take_ip(&e->remote, attr, 16);
		break;
	case MPTCP_ATTR_SPORT:
		e->local.port = ntohs(mnl_attr_get_u16(attr));
		break;
	case MPTCP_ATTR_DPORT:
		e->remote.port = ntohs(mnl_attr_get_u16(attr));
		break;
	case MPTCP_ATTR_LOC_ID:
		e->local_id = mnl_attr_get_u8(attr);
		e->has_ids = true;
		break;
	case MPTCP_ATTR_REM_ID:
		e->remote_id = mnl_attr_get_u8(attr);
		break;
	case MPTCP_ATTR_BACKUP:
		e->backup = mnl_attr_get_u8(attr);
		break;
	case MPTCP_ATTR_ERROR:
		e->error = mnl_attr_get_u8(attr);
		break;
	case MPTCP_ATTR_RESET_REASON:
		e->reset_reason = mnl_attr_get_u32(attr);
		e->has_reset = true;
		break;
	case MPTCP_ATTR_SERVER_SIDE:
		e->server = mnl_attr_get_u8(attr);
		break;
	default:
		break;
	}
}

struct call {
	void (*call)(const struct pm_event *e, void *arg);
	void *arg;
};

static int on_message(const struct nlmsghdr *nlh, void *data)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	const struct call *c = data;
	const struct nlattr *attr;
	struct pm_event e = { .type = genl->cmd };

	mnl_attr_for_each(attr, nlh, sizeof(*genl)) take(&e, attr);
	c->call(&e, c->arg);
	return MNL_CB_OK;
}

int pm_read(struct mnl_socket *nl, void (*call)(const struct pm_event *e, void *arg), void *arg)
{
	struct call c = { call, arg };
	char buf[65536];
	ssize_t n;

	for (;;) {
		n = recv(mnl_socket_get_fd(nl), buf, sizeof(buf), MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		if (mnl_cb_run(buf, (size_t)n, 0, 0, on_message, &c) < 0)
			return -errno;
	}
}
