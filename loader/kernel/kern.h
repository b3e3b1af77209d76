/* SPDX-License-Identifier: GPL-2.0 */
/* What the running kernel offers to BPF schedulers. */
#ifndef MPS_KERN_H
#define MPS_KERN_H

#include <stdbool.h>
#include "cli/error.h"
#include "kernel/bridge.h"
#include "model/types.h"

/* The two forms of struct mptcp_sched_ops, see bpf/kernel/compat.h. */
enum form { FORM_SEND, FORM_PRE615, NR_FORMS };

enum support { SUPPORT_NONE, SUPPORT_BRIDGE, SUPPORT_NATIVE };

#define SCHED_OPS "mptcp_sched_ops"
#define SCHED_OPS_VALUE "bpf_struct_ops_mptcp_sched_ops"
#define SCHED_CLOCK "mptcp_sched_clock"
#define SCHED_CLOCK_VALUE "bpf_struct_ops_mptcp_sched_clock"
#define RETRANS_KFUNC "bpf_mptcp_request_retrans"
#define PASS_KFUNC "bpf_mptcp_retrans_pass"
#define SYSCTL_DIR "/proc/sys/net/mptcp"

struct btf;

struct kern {
	bool mptcp;	/* net.mptcp is there */
	bool btf;	/* vmlinux's BTF is there and has struct mptcp_sched_ops */
	enum form form; /* valid with btf */
	bool foreign;	/* its hooks are of a form that nobody serves: get_send(msk, data) */
	enum support support;
};

#define FOUND_FOREIGN "this kernel's hook is get_send(msk, data), a form that only 6.15 had"
#define HINT_FORM "boot a kernel 6.12, or 6.16 or newer"

void kern_probe(struct kern *k);
/* The bit of mptcp_sock.flags that says "fell back to TCP", as the bridge found it. */
unsigned int kern_fallback_bit(void);
const char *support_name(enum support support);
/* "get_send" or "get_subflow": the member that tells the forms apart. */
const char *form_hook(enum form form);
const char *form_kernels(enum form form);
/* Has this struct of the BTF the hook of this form? 0: there is no such struct. */
bool struct_has_form(const struct btf *btf, __u32 id, enum form form);

/* vmlinux's BTF, read once; NULL where there is none. */
struct btf *kern_btf(void);

/* Makes the kernel able to take a scheduler, with the bridge where it needs it. */
enum exit_code kern_require(struct kern *k);

/*
 * Can BPF programs ask for copies? That takes the bridge's kfuncs and its ACK clock, on
 * kernels with an API of their own too. The second one loads the bridge where it can.
 */
bool kern_has_retrans(void);
bool kern_want_retrans(void);
/* What of it the kernel does not have, NULL: it has all. */
const char *kern_retrans_missing(void);
/* What came of that where it did not help, else why is "". */
const struct bridge *kern_retrans_trouble(void);

/* Words of net.mptcp.available_schedulers; returns how many (global to the kernel). */
#define MAX_AVAILABLE 128
unsigned int kern_available(char (*names)[MPS_NAME_LEN]);
bool kern_has_sched(const char *name);

/* How long the kernel may take to let go of what nobody uses any more. */
#define RELEASE_MS 3000
#define POLL_MS 20

/* References to the bridge module, -1 where it is not loaded. */
int kern_bridge_refs(void);

#endif /* MPS_KERN_H */
