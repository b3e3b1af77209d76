/* SPDX-License-Identifier: GPL-2.0 */
/* Prototypes of the kfuncs: called from BPF only, they need one to be clean. */
#ifndef MSB_API_H
#define MSB_API_H

#define MSB_KFUNC __attribute__((__used__, __noinline__, __externally_visible__))

struct bpf_iter_mptcp_subflow;

int bpf_iter_mptcp_subflow_new(struct bpf_iter_mptcp_subflow *it, struct sock *sk);
struct mptcp_subflow_context *bpf_iter_mptcp_subflow_next(struct bpf_iter_mptcp_subflow *it);
void bpf_iter_mptcp_subflow_destroy(struct bpf_iter_mptcp_subflow *it);
struct mptcp_subflow_context *bpf_mptcp_subflow_ctx(const struct sock *sk);
struct sock *bpf_mptcp_subflow_tcp_sock(const struct mptcp_subflow_context *subflow);
void mptcp_set_timeout(struct sock *sk);
unsigned long long mptcp_wnd_end(const struct mptcp_sock *msk);
_Bool bpf_sk_stream_memory_free(const struct sock *sk);
_Bool bpf_mptcp_subflow_queues_empty(struct sock *sk);
void mptcp_pm_subflow_chk_stale(const struct mptcp_sock *msk, struct sock *ssk);
struct tcp_sock *bpf_mptcp_subflow_tcp(const struct mptcp_subflow_context *subflow);
int bpf_mptcp_pass_over(struct sock *sk);
int bpf_mptcp_expand_sndbuf(struct sock *ssk, unsigned int bytes);
int bpf_mptcp_watch(struct sock *sk, unsigned int slack_us);
int bpf_mptcp_is_quiet(struct sock *ssk, unsigned int slack_us);
int bpf_mptcp_restart_once(struct sock *ssk);
int bpf_mptcp_retrans_pass(struct sock *sk);
int bpf_mptcp_request_retrans(struct sock *sk);

#endif /* MSB_API_H */
