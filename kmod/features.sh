#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What a kernel has, as options of the compiler: one line per difference between
# kernels, each read from that kernel's own BTF or headers, none from its version.
#
# usage: features.sh VMLINUX_H FUNCTIONS HEADERS...
#   VMLINUX_H  its types, as bpftool dumps them
#   FUNCTIONS  the names of its functions, one per line
#   HEADERS    its include/net/inet_connection_sock.h
#
# Exit status 77: a kernel that the bridge cannot serve, whatever else is installed (skip.sh).

set -eu
types=$1 functions=$2
shift 2

type_has() {
	grep -q "$1" "$types"
}

# header_has PATTERN FILE...: files that a kernel has elsewhere are none
header_has() {
	pattern=$1
	shift
	cat "$@" 2>/dev/null | grep -q "$pattern"
}

refuse() {
	echo "features.sh: $*" >&2
	exit 77
}

option() {
	printf -- '-D%s ' "$1"
}

# The hooks: (get_send(msk), get_retrans(msk)), or one get_subflow(msk, data).
if type_has '(\*get_send)(struct mptcp_sock \*);'; then
	option MSB_HAVE_GET_SEND
elif type_has '(\*get_send)('; then
	refuse "this kernel's hook is get_send(msk, data), a form that only Linux 6.15 had;" \
		"the bridge serves get_send(msk) and get_subflow(msk, data)"
elif ! type_has '(\*get_subflow)(struct mptcp_sock \*, struct mptcp_sched_data \*);'; then
	refuse "this kernel's struct mptcp_sched_ops has no hook that the bridge knows"
fi

# Who looks for stale subflows: the default scheduler only, by this function, or the core.
! grep -qx mptcp_pm_subflow_chk_stale "$functions" || option MSB_HAVE_CHK_STALE

# Whether the kernel itself can be asked for a retransmission (patches/).
! grep -qx bpf_mptcp_request_retrans "$functions" || option MSB_HAVE_REQUEST

# The data-level retransmission timer: a field of its own, or the one of TCP's write timer.
! type_has 'struct timer_list mptcp_retransmit_timer;' || option MSB_HAVE_MPTCP_TIMER

# The tracepoint that every segment passes, with which the ACK clock ticks (clock.c).
probe='typedef void (\*btf_trace_tcp_probe)(void \*, struct sock \*,'
if type_has "$probe const struct sk_buff \*);"; then
	option MSB_HAVE_CONST_PROBE
elif ! type_has "$probe struct sk_buff \*);"; then
	refuse "this kernel has no tracepoint tcp_probe(sk, skb), with which the bridge's ACK clock ticks"
fi

# A subflow's own timer: of the socket or of its TCP part, there with its time beside it or without.
if type_has 'struct timer_list tcp_retransmit_timer;'; then
	option MSB_HAVE_TCP_TIMER
elif type_has 'long unsigned int icsk_timeout;'; then
	option MSB_HAVE_TIMEOUT_FIELD
fi

# When a subflow's own timer fires: tcp_timeout_expires(sk), icsk_timeout(icsk), or a field.
if header_has 'tcp_timeout_expires(' "$@"; then
	option MSB_HAVE_TIMEOUT_EXPIRES
elif header_has 'icsk_timeout(' "$@"; then
	option MSB_HAVE_ICSK_TIMEOUT
fi
