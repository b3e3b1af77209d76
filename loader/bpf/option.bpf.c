// SPDX-License-Identifier: GPL-2.0
/*
 * The socket option that names a mode of bpf_steer (state/steer_option.h), for the processes of a
 * cgroup: `steer option`. The kernel asks these programs before its own setsockopt() and behind its
 * own getsockopt(), with the socket locked. All other options, and other sockets, are left to it.
 *
 * What is said of a socket counts at its connection's next decision: what is stored of that forgets
 * which tables it was classified by.
 */
#include "bpf/kernel.h"
#include "state/steer_option.h"

#define BPF_MAP_TYPE_SK_STORAGE 24
#define BPF_F_NO_PREALLOC 1U
#define BPF_F_CLONE (1U << 9)
#define BPF_SK_STORAGE_GET_F_CREATE 1ULL
#define SOL_MPTCP 284
#define ENOENT 2
#define ENOMEM 12
#define EINVAL 22
/* Of longer values the kernel shows the beginning, and 0 means: take the user's own. */
#define VALUE_MAX 4096

char _license[] SEC("license") = "GPL";

/* The scheduler's own. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct mps_steer_wish);
} mps_wish_v1 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct mps_conn_store);
} MPS_CONN_STORAGE SEC(".maps");

#define MODE_NAME(id, name, policy, what) { .text = name },
static const struct mps_steer_mode_name names[MPS_NR_STEER_MODES] = { MPS_STEER_MODES(MODE_NAME) };

/* include/uapi/linux/bpf.h, as far as it is used */
struct bpf_sock {
	__u32 bound_dev_if, family, type, protocol;
};

struct bpf_sockopt {
	struct bpf_sock *sk;
	char *optval, *optval_end;
	__s32 level, optname, optlen, retval;
};

static __always_inline bool is_ours(struct bpf_sockopt *ctx)
{
	if (ctx->level == SOL_MPTCP && ctx->optname == MPS_STEER_OPTION && ctx->sk &&
	    ctx->sk->protocol == IPPROTO_MPTCP)
		return true;
	if (ctx->optlen > VALUE_MAX)
		ctx->optlen = 0;
	return false;
}

static __always_inline int refuse(int err)
{
	bpf_set_retval(-err);
	return 0;
}

/* Up to its NUL, or as far as it goes. */
static __always_inline void read_name(struct mps_steer_mode_name *name,
				      const struct bpf_sockopt *ctx)
{
	const char *value = ctx->optval, *end = ctx->optval_end;
	bool ended = false;
	__u32 i;

	for (i = 0; i < MPS_STEER_OPTION_LEN - 1; i++) {
		if (value + i + 1 > end)
			break;
		ended |= !value[i];
		name->text[i] = ended ? 0 : value[i];
	}
}

SEC("cgroup/setsockopt")
int steer_set(struct bpf_sockopt *ctx)
{
	struct mps_steer_mode_name name = {};
	struct mps_steer_wish *wish;
	struct mps_conn_store *conn;
	__u32 mode;

	if (!is_ours(ctx))
		return 1;
	if (ctx->optlen < 1)
		return refuse(EINVAL);
	read_name(&name, ctx);
	mode = mps_steer_wish_of(names, &name);
	if (mode > MPS_NR_STEER_MODES)
		return refuse(ENOENT);
	wish = bpf_sk_storage_get(&mps_wish_v1, ctx->sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!wish)
		return refuse(ENOMEM);
	wish->mode = mode;
	conn = bpf_sk_storage_get(&MPS_CONN_STORAGE, ctx->sk, NULL, 0);
	if (conn)
		mps_steer_state(&conn->priv)->generation = 0;
	/* the kernel is not asked any more */
	ctx->optlen = -1;
	return 1;
}

SEC("cgroup/getsockopt")
int steer_get(struct bpf_sockopt *ctx)
{
	struct mps_steer_mode_name name = {};
	char *value = ctx->optval, *end = ctx->optval_end;
	struct mps_steer_wish *wish;
	__u32 i, mode = 0;

	if (!is_ours(ctx))
		return 1;
	wish = bpf_sk_storage_get(&mps_wish_v1, ctx->sk, NULL, 0);
	if (wish)
		mode = wish->mode;
	if (mode - 1 < MPS_NR_STEER_MODES)
		name = names[mode - 1];
	for (i = 0; i < MPS_STEER_OPTION_LEN; i++) {
		if (value + i + 1 > end)
			break;
		value[i] = name.text[i];
	}
	ctx->optlen = (__s32)i;
	ctx->retval = 0;
	return 1;
}
