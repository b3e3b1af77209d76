/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the BPF programs of loader/bpf/ hand to the command: a sequence of
 * records of one fixed size each. Socket identities
 * join records to each other and are never printed.
 */
#ifndef MPS_RECORDS_H
#define MPS_RECORDS_H

#include "state/steer.h"

/* One end of a socket: network byte order, an IPv4 address in the first 4 bytes. */
struct mps_addr {
	__u8 ip[16];
	__u16 port; /* host byte order */
	__u16 family;
	__u32 reserved;
};

/* An MPTCP socket that some process has open; one record per file descriptor. */
struct mps_sock_rec {
	__u64 sk;
	__u32 netns;
	__u32 token; /* 0: no connection yet */
	__u32 pid;
	__u32 state;	/* TCP_* of net/tcp_states.h */
	__u32 fallback; /* the connection fell back to TCP, without a scheduler */
	__u32 ops_map;	/* id of the map that holds its scheduler, where that is one of BPF */
	char sched[MPS_NAME_LEN];
	char comm[16];
	struct mps_addr local, remote;
};

/* A connection with state of one of our schedulers. */
struct mps_conn_rec {
	__u64 sk;
	__u32 netns;
	__u32 token;
	__u32 state;
	__u32 fallback;
	__u32 begun;		      /* what is stored is of this connection: mps_is_of() */
	__u32 key;		      /* of bpf_steer: mps_greatest_key() */
	__u64 inflight;		      /* bytes assigned and not acknowledged at data level, now */
	__u64 pending;		      /* bytes of the application not given to any subflow, now */
	__u64 notes;		      /* 1 << enum mps_note */
	struct mps_steer_state steer; /* of a connection of bpf_steer */
	__u32 unused;
	__u64 counter[MPS_NR_CONN_COUNTERS];
	char sched[MPS_NAME_LEN];
	struct mps_addr local, remote;
};

/* One of its subflows. */
struct mps_subflow_rec {
	__u64 conn;			/* sk of the connection */
	struct mps_subflow_store store; /* its counters are settled by the reader */
	__u64 bytes_acked, bytes_sent;	/* of TCP, retransmissions included in the latter */
	__u32 state;
	__u32 srtt_us;	      /* 0: no sample yet */
	__u32 cwnd, inflight; /* segments */
	__u32 mss;
	__u32 queued; /* memory of its write queue in bytes, overhead included */
	__u32 unsent; /* bytes given to TCP that it has not sent yet */
	__u32 backup, stale;
	__u32 id;	 /* of the subflow within the connection */
	__u32 remote_id; /* of the peer's address, as the peer numbers its own */
	__u32 token;	 /* of the connection, read after all that is of the subflow */
	/* for mps_settle(): low halves of sequence numbers, rel_write_seq and the connection's */
	__u32 seq, head, sent;
	struct mps_addr local, remote;
};

/* How far a walk of a map of socket storage is: bpf/walk.h. */
struct mps_walk {
	__u32 map_fd, map_id;
	__u32 bucket, skip; /* elements of that bucket that were looked at */
	__u32 nr;	    /* records of this page */
	__u32 before;	    /* of these: from buckets before this one */
	__u32 over;	    /* there are no more */
	__u32 fence;	    /* always 0 */
};

/*
 * Records of a page. A bucket with more takes several, and where elements go between these, the
 * walk may pass over others.
 */
#define MPS_WALK_PAGE 1024

#endif /* MPS_RECORDS_H */
