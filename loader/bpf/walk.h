/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The walk of a map of socket storage, from call to call as far as a page of records takes.
 *
 * The kernel's own iterator, bpf_sk_storage_map, does the same and cannot be had: where a socket
 * ends between two of its steps it follows a pointer that is NULL by then (7.3,
 * __bpf_sk_storage_map_seq_show() and bpf_selem_unlink_nofail()). Here each read may fail, and what
 * a socket left behind is passed over. As there, RCU keeps the elements while they are looked at.
 * It does not keep their sockets, whose memory may be another one's at once: what was read counts
 * if the element has its socket still.
 */
#ifndef MPS_LOADER_BPF_WALK_H
#define MPS_LOADER_BPF_WALK_H

#include "bpf/kernel.h"

#define MPS_WALK_STEPS (1U << 23) /* BPF_MAX_LOOPS, include/linux/bpf.h */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct fdtable {
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct task_struct___walk {
	struct files_struct *files;
};

struct file___walk {
	void *private_data; /* of a map's: the map */
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct bpf_local_storage_map_bucket {
	struct hlist_head list;
};

struct bpf_local_storage_map {
	struct bpf_map map;
	struct bpf_local_storage_map_bucket *buckets;
	__u32 bucket_log;
};

struct bpf_local_storage {
	struct sock *owner;
};

struct bpf_local_storage_data {
	__u8 data[0];
};

struct bpf_local_storage_elem {
	struct hlist_node map_node;
	struct bpf_local_storage *local_storage;
	struct bpf_local_storage_data sdata;
};

#pragma clang attribute pop

/* uapi/linux/bpf.h, for bpf_for() */
struct bpf_iter_num {
	__u64 opaque[1];
} __attribute__((aligned(8)));

extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;

struct mps_walk walk; /* user space sets where it begins, and goes on */

/* The map of the caller's file descriptor, or NULL where that is not found. */
static struct bpf_local_storage_map *walk_map(void)
{
	struct task_struct___walk *me = (void *)bpf_get_current_task();
	struct file **files = BPF_CORE_READ(me, files, fdt, fd);
	struct bpf_local_storage_map *map;
	struct file___walk *file = NULL;

	bpf_probe_read_kernel(&file, sizeof(file), files + walk.map_fd);
	map = BPF_CORE_READ(file, private_data) -
	      bpf_core_field_offset(struct bpf_local_storage_map, map);
	if (BPF_CORE_READ(map, map.id) != walk.map_id || !BPF_CORE_READ(map, buckets))
		return NULL;
	return map;
}

/* The first element of the next bucket that has one, or NULL. */
static __always_inline struct hlist_node *walk_bucket(struct bpf_local_storage_map *map)
{
	const __u64 nr = 1ULL << (BPF_CORE_READ(map, bucket_log) & 31);
	const __u64 size = bpf_core_type_size(struct bpf_local_storage_map_bucket);
	struct bpf_local_storage_map_bucket *bucket;

	if (walk.bucket >= nr) {
		walk.over = 1;
		return NULL;
	}
	bucket = (void *)BPF_CORE_READ(map, buckets) + size * walk.bucket;
	return BPF_CORE_READ(bucket, list.first);
}

static __always_inline struct sock *walk_owner(struct bpf_local_storage_elem *elem)
{
	return BPF_CORE_READ(elem, local_storage, owner);
}

/* The page is full: whole buckets, if it has any, so that no element is missed. */
static __always_inline bool walk_is_full(void)
{
	if (walk.nr < MPS_WALK_PAGE)
		return false;
	if (walk.before) {
		walk.nr = walk.before;
		walk.skip = 0;
	}
	return true;
}

/*
 * visit: 0 where the socket has no record. It is a global function, or the verifier would follow
 * all of its ways in each turn of the loop. Returns 0, or 1: the descriptor has no map to walk.
 */
static __always_inline int walk_on(int (*visit)(__u64 sk, __u64 data, __u32 nr))
{
	struct bpf_local_storage_map *map = walk_map();
	struct bpf_local_storage_elem *elem;
	struct hlist_node *at = NULL;
	bool inside = false;
	__u32 i, seen = 0;
	struct sock *sk;

	walk.nr = walk.before = 0;
	if (!map)
		return 1;
	bpf_rcu_read_lock();
	bpf_for(i, 0, MPS_WALK_STEPS)
	{
		if (walk.over || walk_is_full())
			break;
		at = inside ? BPF_CORE_READ(at, next) : walk_bucket(map);
		seen = inside ? seen + 1 : 0;
		inside = at;
		if (!at) {
			walk.bucket++;
			walk.skip = 0;
			walk.before = walk.nr;
			continue;
		}
		if (seen < walk.skip)
			continue;
		walk.skip = seen + 1;
		elem = (void *)at - bpf_core_field_offset(struct bpf_local_storage_elem, map_node);
		sk = walk_owner(elem);
		if (!sk || !visit((__u64)sk, (__u64)&elem->sdata.data, walk.nr))
			continue;
		__sync_fetch_and_or(&walk.fence, 0);
		walk.nr += walk_owner(elem) == sk;
	}
	bpf_rcu_read_unlock();
	return 0;
}

#endif /* MPS_LOADER_BPF_WALK_H */
