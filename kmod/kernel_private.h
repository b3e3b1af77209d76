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
#include <linux/stringify.h>
#include <linux/workqueue.h>
#include <net/mptcp.h>
#include <net/sock.h>

struct mptcp_subflow_context;

/* The newest series on which the tests passed, see docs/reference/kernels.md. */
#ifndef MSB_TESTED_MAJOR
#define MSB_TESTED_MAJOR 7
#define MSB_TESTED_MINOR 3
#endif
#define MSB_TESTED __stringify(MSB_TESTED_MAJOR) "." __stringify(MSB_TESTED_MINOR)

/* Bits of mptcp_sock.flags: the kernel's own, MPTCP_WORK_RTX and MPTCP_FALLBACK_DONE (probe.c), */
extern unsigned int msb_work_rtx, msb_fallback_done;

/* and the bridge's, from the other end of the word, which the kernel does not use. */
enum {
	MSB_ASKED = BITS_PER_LONG - 1,	    /* a pass was asked for and has not begun */
	MSB_PASS_ASKED = BITS_PER_LONG - 2, /* the worker's next pass is that one */
	MSB_IN_PASS = BITS_PER_LONG - 3,    /* get_retrans was called in this pass (pass.c) */
	MSB_WATCHED = BITS_PER_LONG - 4,    /* somebody will look at its subflows (watch.c) */
	MSB_ONCE = BITS_PER_LONG - 5,	    /* windows restart once per pause (restart.c) */
};

/* S(name, type of result, arguments): what every kernel must have */
#define MSB_FUNCTIONS(S)                                                          \
	S(mptcp_schedule_work, bool, (struct sock *))                             \
	S(mptcp_stale_loss_cnt, unsigned int, (const struct net *))               \
	S(mptcp_subflow_active, bool, (struct mptcp_subflow_context *))           \
	S(mptcp_diag_fill_info, void, (struct mptcp_sock *, struct mptcp_info *)) \
	S(bpf_get_btf_vmlinux, struct btf *, (void))                              \
	S(bpf_find_btf_id, s32, (const char *, u32, struct btf **))               \
	S(btf_put, void, (struct btf *))                                          \
	S(btf_name_by_offset, const char *, (const struct btf *, u32))            \
	S(btf_find_by_name_kind, s32, (const struct btf *, const char *, u8))

/* and what the API is made of, where the kernel has none itself */
#define MSB_API_FUNCTIONS(S)                                            \
	S(mptcp_register_scheduler, int, (struct mptcp_sched_ops *))    \
	S(mptcp_unregister_scheduler, void, (struct mptcp_sched_ops *)) \
	MSB_FUNCTIONS_STALE(S)

#ifdef MSB_HAVE_CHK_STALE
#define MSB_FUNCTIONS_STALE(S) \
	S(mptcp_pm_subflow_chk_stale, void, (const struct mptcp_sock *, struct sock *))
#else
#define MSB_FUNCTIONS_STALE(S)
#endif

/* P(name): where probes are put: pass.c, restart.c */
#define MSB_PROBED(P)      \
	P(__mptcp_retrans) \
	P(tcp_cwnd_restart)

/* D(name): helpers that programs may call and that are in nobody's exports */
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

/* layout.c; one line in the kernel log says what differs */
int msb_check_layout(const struct btf *vmlinux);

/* probe.c */
int msb_find_flags(void);

/* main.c; says in the kernel log what could not be registered, and why; returns err */
int msb_registered(const char *what, int err);

/* structops.c */
int msb_register_struct_ops(void);
u32 msb_ops_type_id(void);
int msb_find_ops_type(struct btf *vmlinux);
const struct bpf_func_proto *msb_get_func_proto(enum bpf_func_id func_id,
						const struct bpf_prog *prog);
int msb_copy_name(char *dst, const char *src);

/* clock.c */
struct tracepoint;
int msb_register_clock(void);
bool msb_has_clock(const struct mptcp_sock *msk);
struct tracepoint *msb_find_tracepoint(const char *name);

/* restart.c: has it a scheduler of BPF, or did a program ask something for it? */
bool msb_is_served(struct mptcp_sock *msk);

/* ops.c */
int msb_reg(void *kdata, struct bpf_link *link);
void msb_unreg(void *kdata, struct bpf_link *link);
void msb_forget_ops(void);

/* retrans.c: requests for a pass, and what else is done later */
extern struct workqueue_struct *msb_wq;
int msb_start_requests(void);
void msb_stop_requests(void);

/* A subflow that fell silent, and when it had last answered, in us: no two are the same. */
struct msb_silence {
	const struct sock *ssk;
	u64 since;
};
#define MSB_SILENCES 8

/* pool.c */
struct msb_request {
	union {
		struct delayed_work work;
		struct list_head free;
	};
	struct sock *sk;
	/* of a watch: */
	u32 slack_us;
	u32 nr_silent;
	struct msb_silence silent[MSB_SILENCES]; /* the last ones that were given up */
	struct msb_silence quiet;		 /* the last for which a pass was begun */
};

int msb_request_start(struct sock *sk, int bit, work_func_t run, unsigned long delay, u32 slack_us);
void msb_request_done(struct msb_request *r);
void msb_begin_pass(struct sock *sk);
void msb_queue_push(struct sock *sk);
long msb_expires_in(const struct sock *ssk);

int msb_pool_start(void);
void msb_pool_stop(void);
struct msb_request *msb_pool_get(void);
void msb_pool_put(struct msb_request *r);
void msb_pool_put_back(struct msb_request *r);

/* ends.c */
int msb_find_ends(void);
int msb_watch_ends(void);
void msb_forget_ends(void);
void msb_push_short_end(struct mptcp_sock *msk, struct sock *ssk);

/* rounds.c */
bool msb_round_is_due(struct mptcp_sock *msk);

/* pass.c */
int msb_watch_passes(void);
void msb_forget_passes(void);

/* restart.c */
int msb_watch_restarts(void);
void msb_forget_restarts(void);

/* kfuncs.c; native: vmlinux has the API, so only the bridge's own kfuncs */
int msb_register_kfuncs(struct btf *vmlinux, bool native);

#endif /* MSB_KERNEL_PRIVATE_H */
