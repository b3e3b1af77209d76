/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every field of the kernel's structs that the bridge reads or writes. When the module is
 * loaded each is compared with the running kernel's BTF (layout.c). A field that is used and
 * not listed here is a defect.
 *
 * F(struct, member): offset and size are compared. B(struct, member): a bit field, or what is
 * one on some kernels; the place of its lowest bit is compared.
 */
#ifndef MSB_LAYOUT_H
#define MSB_LAYOUT_H

/* private.c: by the BTF that the module was built with */
#define MSB_PRIVATE_FIELDS(F, B)                    \
	F(mptcp_sock, conn_list)                    \
	F(mptcp_sock, first_pending)                \
	F(mptcp_sock, flags)                        \
	F(mptcp_sock, rtx_queue)                    \
	F(mptcp_sock, sched)                        \
	F(mptcp_sock, snd_burst)                    \
	F(mptcp_sock, snd_nxt)                      \
	F(mptcp_sock, snd_una)                      \
	F(mptcp_sock, timer_ival)                   \
	F(mptcp_sock, wnd_end)                      \
	F(mptcp_sock, work)                         \
	F(mptcp_sock, write_seq)                    \
	F(mptcp_data_frag, already_sent)            \
	F(mptcp_data_frag, data_len)                \
	F(mptcp_data_frag, data_seq)                \
	F(mptcp_data_frag, list)                    \
	F(mptcp_subflow_context, avg_pacing_rate)   \
	F(mptcp_subflow_context, conn)              \
	F(mptcp_subflow_context, fully_established) \
	F(mptcp_subflow_context, node)              \
	B(mptcp_subflow_context, backup)            \
	B(mptcp_subflow_context, request_bkup)      \
	B(mptcp_subflow_context, request_join)      \
	B(mptcp_subflow_context, stale)             \
	F(mptcp_subflow_context, stale_count)       \
	F(mptcp_subflow_context, stale_rcv_tstamp)  \
	F(mptcp_subflow_context, tcp_sock)          \
	MSB_TIMER_FIELD(F)                          \
	F(timer_list, entry)                        \
	F(timer_list, function)                     \
	F(hlist_node, pprev)                        \
	F(btf, kfunc_set_tab)                       \
	F(btf_kfunc_set_tab, sets)

#ifdef MSB_HAVE_MPTCP_TIMER
#define MSB_TIMER_FIELD(F) F(sock, mptcp_retransmit_timer)
#else
#define MSB_TIMER_FIELD(F) F(inet_connection_sock, icsk_retransmit_timer)
#endif

/* Of a subflow's retransmission: msb_expires_in(), inet_csk_reset_xmit_timer() */
#if defined(MSB_HAVE_TCP_TIMER)
#define MSB_TCP_TIMER_FIELDS(F) F(sock, tcp_retransmit_timer)
#elif defined(MSB_HAVE_TIMEOUT_FIELD)
#define MSB_TCP_TIMER_FIELDS(F)                        \
	F(inet_connection_sock, icsk_retransmit_timer) \
	F(inet_connection_sock, icsk_timeout)
#else
#define MSB_TCP_TIMER_FIELDS(F) F(inet_connection_sock, icsk_retransmit_timer)
#endif

/* tcp_under_memory_pressure() */
#ifdef CONFIG_MEMCG
#define MSB_MEMCG_FIELD(F) F(sock, sk_memcg)
#else
#define MSB_MEMCG_FIELD(F)
#endif
#ifdef sk_bypass_prot_mem
#define MSB_BYPASS_FIELD(B) B(sock_common, skc_bypass_prot_mem)
#else
#define MSB_BYPASS_FIELD(B)
#endif

/* layout.c: by the kernel's headers that the module was built with */
#define MSB_HEADER_FIELDS(F, B)                   \
	F(sock_common, skc_family)                \
	F(sock_common, skc_net)                   \
	F(sock_common, skc_prot)                  \
	F(sock_common, skc_refcnt)                \
	F(sock_common, skc_state)                 \
	F(sock, sk_protocol)                      \
	F(sock, sk_shutdown)                      \
	F(sock, sk_sndbuf)                        \
	F(sock, sk_type)                          \
	B(sock, sk_userlocks)                     \
	F(sock, sk_wmem_queued)                   \
	F(sock, sk_write_queue)                   \
	F(sock, tcp_rtx_queue)                    \
	MSB_MEMCG_FIELD(F)                        \
	MSB_BYPASS_FIELD(B)                       \
	MSB_TCP_TIMER_FIELDS(F)                   \
	F(timer_list, expires)                    \
	F(inet_connection_sock, icsk_backoff)     \
	F(inet_connection_sock, icsk_pending)     \
	F(inet_connection_sock, icsk_retransmits) \
	F(inet_connection_sock, icsk_rto)         \
	F(inet_connection_sock, icsk_ulp_data)    \
	F(sk_buff, active_extensions)             \
	F(sk_buff, extensions)                    \
	F(sk_buff, skb_mstamp_ns)                 \
	F(tcp_sock, delivered_mstamp)             \
	F(tcp_sock, mdev_us)                      \
	F(tcp_sock, packets_out)                  \
	F(tcp_sock, rate_delivered)               \
	F(tcp_sock, rate_interval_us)             \
	F(tcp_sock, rcv_tstamp)                   \
	F(tcp_sock, rttvar_us)                    \
	F(tcp_sock, srtt_us)                      \
	F(tcp_sock, is_mptcp)                     \
	F(tcp_sock, mss_cache)                    \
	B(tcp_sock, nonagle)                      \
	F(tcp_sock, snd_cwnd)                     \
	F(tcp_sock, snd_cwnd_stamp)               \
	F(tcp_sock, snd_nxt)                      \
	F(tcp_sock, snd_una)                      \
	F(tcp_sock, write_seq)                    \
	F(netns_ipv4, sysctl_tcp_wmem)            \
	F(mptcp_ext, data_len)                    \
	F(mptcp_ext, data_seq)                    \
	B(mptcp_ext, use_map)                     \
	MSB_HOOK_FIELDS(F)                        \
	F(mptcp_sched_ops, name)                  \
	F(mptcp_sched_ops, owner)                 \
	F(mptcp_sched_ops, init)                  \
	F(mptcp_sched_ops, release)

#ifdef MSB_HAVE_GET_SEND
#define MSB_HOOK_FIELDS(F)           \
	F(mptcp_sched_ops, get_send) \
	F(mptcp_sched_ops, get_retrans)
#else
#define MSB_HOOK_FIELDS(F)              \
	F(mptcp_sched_ops, get_subflow) \
	F(mptcp_sched_data, reinject)
#endif

/* Where the module expects a field: bytes, or for a bit field one that is set by set(). */
struct msb_field {
	const char *type, *name;
	unsigned int offset, size;
	void (*set)(void *zeroed); /* bit fields: of a struct of size bytes */
};

#define MSB_BIT_SETTER(t, m)                   \
	static void msb_set_##t##_##m(void *p) \
	{                                      \
		((struct t *)p)->m = 1;        \
	}
#define MSB_FIELD(t, m)                                                        \
	{ #t, #m, __builtin_offsetof(struct t, m), sizeof(((struct t *)0)->m), \
	  (void (*)(void *))0 },
#define MSB_BIT_FIELD(t, m) { #t, #m, 0, sizeof(struct t), msb_set_##t##_##m },
#define MSB_NO_FIELD(t, m)

extern const struct msb_field msb_private_fields[];
extern const unsigned int msb_nr_private_fields;

#endif /* MSB_LAYOUT_H */
