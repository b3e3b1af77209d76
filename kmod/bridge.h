/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the units of the bridge share. It names kernel types only as opaque
 * structs, since it is included next to kernel headers, next to a dumped
 * vmlinux.h and next to nothing at all.
 */
#ifndef MSB_BRIDGE_H
#define MSB_BRIDGE_H

struct btf;
struct list_head;
struct mptcp_sched_ops;
struct mptcp_sock;
struct mptcp_subflow_context;
struct sock;
struct work_struct;

/* Kfuncs that no kernel has, K(name, flags): kmod/api.c says what they do. */
#define MSB_OWN_KFUNCS(K)                                                          \
	K(bpf_mptcp_pass_over, KF_TRUSTED_ARGS)                                    \
	K(bpf_mptcp_subflow_tcp, KF_RET_NULL | KF_RCU_PROTECTED | KF_TRUSTED_ARGS) \
	K(bpf_mptcp_expand_sndbuf, 0)                                              \
	K(bpf_mptcp_watch, KF_TRUSTED_ARGS)                                        \
	K(bpf_mptcp_is_quiet, 0)                                                   \
	K(bpf_mptcp_restart_once, KF_TRUSTED_ARGS)                                 \
	K(bpf_mptcp_retrans_pass, KF_TRUSTED_ARGS)                                 \
	MSB_KFUNCS_REQUEST(K)

/* Programs find the kernel's own first, by that name, so there are not two. */
#ifdef MSB_HAVE_REQUEST
#define MSB_KFUNCS_REQUEST(K)
#else
#define MSB_KFUNCS_REQUEST(K) K(bpf_mptcp_request_retrans, KF_TRUSTED_ARGS)
#endif

/*
 * The kfuncs of the module, in one table. Names, signatures and flags are
 * mptcp_net-next's, but for the last ones.
 */
#define MSB_KFUNCS(K)                                                \
	K(bpf_iter_mptcp_subflow_new, KF_ITER_NEW | KF_TRUSTED_ARGS) \
	K(bpf_iter_mptcp_subflow_next, KF_ITER_NEXT | KF_RET_NULL)   \
	K(bpf_iter_mptcp_subflow_destroy, KF_ITER_DESTROY)           \
	K(bpf_mptcp_subflow_ctx, KF_RET_NULL)                        \
	K(bpf_mptcp_subflow_tcp_sock, KF_RET_NULL)                   \
	K(mptcp_set_timeout, 0)                                      \
	K(mptcp_wnd_end, 0)                                          \
	K(bpf_sk_stream_memory_free, 0)                              \
	K(bpf_mptcp_subflow_queues_empty, 0)                         \
	MSB_KFUNCS_STALE(K)                                          \
	MSB_OWN_KFUNCS(K)

/*
 * Where the core itself looks for stale subflows before get_retrans, the kfunc
 * has nothing left to do; where it does not (ops.c), vmlinux has the function.
 */
#ifdef MSB_HAVE_CHK_STALE
#define MSB_KFUNCS_STALE(K)
#define MSB_VMLINUX_STALE(K) K(mptcp_pm_subflow_chk_stale, KF_SLEEPABLE)
#else
#define MSB_KFUNCS_STALE(K) K(mptcp_pm_subflow_chk_stale, KF_SLEEPABLE)
#define MSB_VMLINUX_STALE(K)
#endif

/* Kfuncs of the API that are functions of vmlinux: K(name, flags). */
#define MSB_VMLINUX_KFUNCS(K)             \
	K(mptcp_subflow_set_scheduled, 0) \
	K(mptcp_subflow_active, 0)        \
	MSB_VMLINUX_STALE(K)

/* private.c: the offsets of the fields that a scheduler may write, */
extern const int msb_snd_burst_off, msb_avg_pacing_rate_off;

/* and the fields that only net/mptcp/protocol.h knows. */
struct list_head *msb_conn_list(struct mptcp_sock *msk);
struct mptcp_subflow_context *msb_subflow_of(struct list_head *node);
struct sock *msb_subflow_ssk(const struct mptcp_subflow_context *subflow);
struct sock *msb_subflow_conn(const struct mptcp_subflow_context *subflow);
_Bool msb_subflow_can_send(const struct mptcp_subflow_context *subflow, int state);
unsigned int msb_subflow_stale_count(const struct mptcp_subflow_context *subflow);
_Bool msb_subflow_is_backup(const struct mptcp_subflow_context *subflow);
_Bool msb_count_rounds(struct mptcp_subflow_context *subflow, unsigned int rounds,
		       unsigned int rcv_tstamp);
void msb_forget_rounds(struct mptcp_subflow_context *subflow, unsigned int rcv_tstamp);
void msb_forgive_round(struct mptcp_subflow_context *subflow);
unsigned long long msb_wnd_end(const struct mptcp_sock *msk);
_Bool msb_has_unacked(const struct mptcp_sock *msk);
unsigned long long msb_una(const struct mptcp_sock *msk);
unsigned long long msb_unacked(const struct mptcp_sock *msk);
unsigned long long msb_write_seq(const struct mptcp_sock *msk);
_Bool msb_has_unsent(const struct mptcp_sock *msk);
_Bool msb_bursts(const struct mptcp_sock *msk);
int msb_next_fragment(struct mptcp_sock *msk);
int msb_pass_over(struct sock *sk);
_Bool msb_rtx_timer_runs(const struct mptcp_sock *msk);
unsigned long msb_rtx_timer_due(const struct mptcp_sock *msk);
void msb_fire_rtx_timer(struct mptcp_sock *msk);
struct mptcp_sock *msb_msk_of_work(struct work_struct *work);
unsigned long *msb_flags(struct mptcp_sock *msk);
unsigned long msb_timer_ival(const struct mptcp_sock *msk);
void msb_set_timer_ival(struct mptcp_sock *msk, unsigned long ival);
struct mptcp_sched_ops *msb_sched(const struct mptcp_sock *msk);
void **msb_kfunc_slot(struct btf *btf);

/* retrans.c */
_Bool msb_is_mptcp_sock(const struct sock *sk);
struct mptcp_subflow_context *msb_subflow_ctx(const struct sock *sk);
struct mptcp_sock *msb_conn_of(const struct sock *ssk);
void msb_set_timeout(struct sock *sk);
_Bool msb_memory_free(const struct sock *sk);
_Bool msb_rtx_queue_empty(const struct sock *sk);
int msb_request_retrans(struct sock *sk);
int msb_retrans_pass(struct sock *sk);

/* watch.c */
int msb_watch(struct sock *sk, unsigned int slack_us);
int msb_is_quiet(struct sock *ssk, unsigned int slack_us);

/* restart.c */
int msb_restart_once(struct sock *ssk);

/* sndbuf.c */
int msb_expand_sndbuf(struct sock *ssk, unsigned int bytes);

#endif /* MSB_BRIDGE_H */
