/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions and data of the kernel that are not exported to modules, found by
 * name when the bridge is loaded (main.c).
 *
 * Functions go through static calls, not pointers: a patched direct call is
 * fine where indirect branch tracking is on and the target's ENDBR has been
 * sealed because the kernel itself never takes its address.
 */
#ifndef MSB_KERNEL_PRIVATE_H
#define MSB_KERNEL_PRIVATE_H

#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/static_call.h>
#include <net/mptcp.h>
#include <net/sock.h>

/* Bits of mptcp_sock.flags: net/mptcp/protocol.h */
#define MPTCP_WORK_RTX 1
#define MPTCP_FALLBACK_DONE 2

/* S(name, type of result, arguments): what every kernel must have */
#define MSB_FUNCTIONS(S)                              \
	S(mptcp_schedule_work, bool, (struct sock *)) \
	S(bpf_get_btf_vmlinux, struct btf *, (void))  \
	S(btf_find_by_name_kind, s32, (const struct btf *, const char *, u8))

/* and what the API is made of, where the kernel has none itself */
#define MSB_API_FUNCTIONS(S)                                            \
	S(mptcp_register_scheduler, int, (struct mptcp_sched_ops *))    \
	S(mptcp_unregister_scheduler, void, (struct mptcp_sched_ops *)) \
	MSB_FUNCTIONS_OLD_FORM(S)

#ifdef MSB_HAVE_GET_SEND
#define MSB_FUNCTIONS_OLD_FORM(S)
#else
#define MSB_FUNCTIONS_OLD_FORM(S) \
	S(mptcp_pm_subflow_chk_stale, void, (const struct mptcp_sock *, struct sock *))
#endif

/* D(name): helpers that the API allows and that are in nobody's exports */
#define MSB_PROTOS(D)                  \
	D(bpf_sk_storage_get_proto)    \
	D(bpf_sk_storage_delete_proto) \
	D(bpf_skc_to_tcp_sock_proto)   \
	D(bpf_skc_to_tcp6_sock_proto)

#define MSB_DECLARE_CALL(name, ret, args) \
	typedef ret msb_fn_##name args;   \
	DECLARE_STATIC_CALL(msb_##name, *(msb_fn_##name *)NULL);
#define MSB_DECLARE_PROTO(name) extern const struct bpf_func_proto *msb_##name;
MSB_FUNCTIONS(MSB_DECLARE_CALL)
MSB_API_FUNCTIONS(MSB_DECLARE_CALL)
MSB_PROTOS(MSB_DECLARE_PROTO)
#undef MSB_DECLARE_CALL
#undef MSB_DECLARE_PROTO

#define msb_call(name) static_call(msb_##name)

unsigned long msb_lookup(const char *name);

/* structops.c */
int msb_register_struct_ops(void);
u32 msb_ops_type_id(void);

/* retrans.c */
int msb_start_requests(void);
void msb_stop_requests(void);

/* kfuncs.c; native: vmlinux has the API, so only the bridge's own kfuncs */
int msb_register_kfuncs(struct btf *vmlinux, bool native);

#endif /* MSB_KERNEL_PRIVATE_H */
