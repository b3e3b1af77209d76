/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What steering compares: the ends of a socket, who made it, and where its route leads. Types of
 * their own (the kernel's name ends at ___), so that the other headers need not know these members.
 */
#ifndef MPS_BPF_ENDS_H
#define MPS_BPF_ENDS_H

#include "kernel/compat.h"
#include "kernel/kfuncs.h"
#include "state/steer.h"
#include <bpf/bpf_endian.h>

#define AF_INET6 10

/* net/core/dev.h: NETDEV_HASHENTRIES; and how many of a chain are looked at */
#define MPS_DEVICE_HEADS 256
#define MPS_DEVICE_CHAIN 8

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr___ends {
	__u32 in6_u;
};

struct ns_common___ends {
	unsigned int inum;
};

struct hlist_node___ends {
	struct hlist_node___ends *next;
};

struct hlist_head___ends {
	struct hlist_node___ends *first;
};

struct net___ends {
	struct ns_common___ends ns;
	struct hlist_head___ends *dev_index_head;
};

struct sock_common___ends {
	__u32 skc_daddr, skc_rcv_saddr;
	__be16 skc_dport; /* network order */
	__u16 skc_num;	  /* host order */
	unsigned short skc_family;
	struct {
		struct net___ends *net;
	} skc_net;
	struct in6_addr___ends skc_v6_daddr, skc_v6_rcv_saddr;
};

struct kernfs_node___ends {
	__u64 id;
};

struct cgroup___ends {
	struct kernfs_node___ends *kn;
	int level;
	struct cgroup___ends *ancestors[MPS_STEER_LEVELS + 1];
};

struct sock_cgroup_data___ends {
	struct cgroup___ends *cgroup;
};

struct net_device___ends {
	char name[MPS_STEER_DEVICE];
	int ifindex;
	struct hlist_node___ends index_hlist;
};

struct dst_entry___ends {
	struct net_device___ends *dev;
};

typedef struct {
	__u32 val;
} kuid_t___ends;

struct sock___ends {
	struct sock_common___ends __sk_common;
	__u32 sk_mark, sk_priority;
	kuid_t___ends sk_uid;
	struct sock_cgroup_data___ends sk_cgrp_data;
	struct dst_entry___ends *sk_dst_cache;
	int sk_rx_dst_ifindex;
};

struct inet_sock___ends {
	__u8 tos;
};

struct mptcp_subflow_context___ends {
	struct sock___ends *tcp_sock;
	__s16 local_id;
	__u8 remote_id;
};

#pragma clang attribute pop

/* An IPv4 address as one of IPv6. */
static __always_inline void mps_mapped(__u64 *to, __u32 v4)
{
	to[0] = 0;
	/* ::ffff:0:0/96, and the address behind it */
	((__u32 *)to)[2] = bpf_htonl(0x0000ffff);
	((__u32 *)to)[3] = v4;
}

static __always_inline void mps_read_ends(__u64 *local, __u64 *remote,
					  const struct sock_common___ends *sk)
{
	/* no CONFIG_IPV6: no such members */
	if (sk->skc_family == AF_INET6 && bpf_core_field_exists(sk->skc_v6_daddr)) {
		bpf_core_read(local, 16, &sk->skc_v6_rcv_saddr);
		bpf_core_read(remote, 16, &sk->skc_v6_daddr);
	} else {
		mps_mapped(local, sk->skc_rcv_saddr);
		mps_mapped(remote, sk->skc_daddr);
	}
}

static __always_inline void mps_read_cgroups(struct mps_steer_key *k, const struct sock___ends *sk)
{
	const struct cgroup___ends *cgroup;
	__u32 i;

	/* no CONFIG_SOCK_CGROUP_DATA */
	if (!bpf_core_field_exists(sk->sk_cgrp_data))
		return;
	cgroup = sk->sk_cgrp_data.cgroup;
	/* an index has to be a constant, or its place is not found in the kernel's types */
	MPS_UNROLL
	for (i = 0; i < MPS_STEER_LEVELS; i++) {
		const struct cgroup___ends *at = NULL;

		if (!cgroup || (int)i >= cgroup->level)
			break;
		bpf_core_read(&at, sizeof(at), &cgroup->ancestors[i + 1]);
		if (at)
			k->cgroup[i] = BPF_CORE_READ(at, kn, id);
	}
}

MPS_FN __u32 mps_read_key(struct mps_steer_key *k MPS_ARG, struct mptcp_sock *msk MPS_TRUSTED)
{
	const struct sock___ends *sk = bpf_core_cast(msk, struct sock___ends);

	__builtin_memset(k, 0, sizeof(*k));
	mps_read_ends(k->local, k->remote, &sk->__sk_common);
	k->local_port = sk->__sk_common.skc_num;
	k->remote_port = bpf_ntohs(sk->__sk_common.skc_dport);
	k->word[MPS_STEER_NETNS] = sk->__sk_common.skc_net.net->ns.inum;
	k->word[MPS_STEER_UID] = sk->sk_uid.val;
	k->word[MPS_STEER_MARK] = sk->sk_mark;
	k->word[MPS_STEER_SO_PRIORITY] = sk->sk_priority;
	k->word[MPS_STEER_DSCP] = bpf_core_cast(msk, struct inet_sock___ends)->tos >> 2;
	mps_read_cgroups(k, sk);
	return 0;
}

/* The name of the namespace's device with that index, as dev_get_by_index() finds it. */
static __always_inline void mps_read_device(__u64 *name, const struct net___ends *net, __u32 index)
{
	const struct net_device___ends *dev;
	struct hlist_node___ends *n = NULL;
	__u64 head = 0;
	int i, found;

	bpf_core_read(&head, sizeof(head), &net->dev_index_head);
	head += (index & (MPS_DEVICE_HEADS - 1)) * sizeof(struct hlist_head___ends);
	bpf_probe_read_kernel(&n, sizeof(n), (void *)head);
	for (i = 0; n && i < MPS_DEVICE_CHAIN; i++) {
		dev = (void *)n - bpf_core_field_offset(struct net_device___ends, index_hlist);
		found = 0;
		bpf_core_read(&found, sizeof(found), &dev->ifindex);
		if ((__u32)found == index) {
			bpf_core_read_str(name, MPS_STEER_DEVICE, &dev->name);
			return;
		}
		if (bpf_core_read(&n, sizeof(n), &n->next))
			return;
	}
}

/*
 * context: address of its struct mptcp_subflow_context. 0: it has no route, as it never sent or as
 * a socket option made the kernel forget it. Then its device is that from which its segments come.
 */
MPS_FN __u32 mps_read_subflow(struct mps_steer_subflow *s MPS_ARG, __u64 context)
{
	const struct mptcp_subflow_context___ends *subflow =
		bpf_core_cast((void *)context, struct mptcp_subflow_context___ends);
	const struct sock___ends *sk = subflow->tcp_sock;
	const struct dst_entry___ends *dst = sk->sk_dst_cache;

	mps_read_ends(s->local, s->remote, &sk->__sk_common);
	s->local_id = subflow->local_id;
	s->remote_id = subflow->remote_id;
	s->device[0] = s->device[1] = 0;
	/* behind its end an older name may show */
	if (dst)
		bpf_core_read_str(s->device, sizeof(s->device), &dst->dev->name);
	else if (sk->sk_rx_dst_ifindex &&
		 bpf_core_field_exists(sk->__sk_common.skc_net.net->dev_index_head))
		mps_read_device(s->device, sk->__sk_common.skc_net.net, sk->sk_rx_dst_ifindex);
	return !!dst;
}

#endif /* MPS_BPF_ENDS_H */
