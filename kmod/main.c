// SPDX-License-Identifier: GPL-2.0
/*
 * mptcp_sched_bpf: lets BPF struct_ops programs be MPTCP packet schedulers on
 * a stock kernel, by the API of mptcp_net-next, names and signatures alike.
 *
 * At load time it looks at what the running kernel has. Where that has the API, only the
 * bridge's own functions and its ACK clock are added. Elsewhere the struct_ops type and the
 * kfuncs are registered, too. Where something that this needs is missing, one line says what,
 * and the module is not loaded.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/stringify.h>
#include <linux/version.h>
#include "bridge.h"
#include "kernel_private.h"

#define MSB_DEFINE_CALL(name, ret, args) \
	DEFINE_STATIC_CALL_NULL(msb_##name, *(msb_fn_##name *)NULL);
#define MSB_DEFINE_PROTO(name) const struct bpf_func_proto *msb_##name;
MSB_FUNCTIONS(MSB_DEFINE_CALL)
MSB_API_FUNCTIONS(MSB_DEFINE_CALL)
MSB_PROTOS(MSB_DEFINE_PROTO)

typedef unsigned long msb_lookup_fn(const char *name);
DEFINE_STATIC_CALL_NULL(msb_kallsyms_lookup_name, *(msb_lookup_fn *)NULL);

unsigned long msb_lookup(const char *name)
{
	return static_call(msb_kallsyms_lookup_name)(name);
}

/* kallsyms_lookup_name() is not exported, but a kprobe is put by name. */
static int msb_find_lookup(void)
{
	/* never armed */
	struct kprobe kp = {
		.symbol_name = "kallsyms_lookup_name",
		.flags = KPROBE_FLAG_DISABLED,
	};
	int err = register_kprobe(&kp);

	if (err) {
		pr_err("cannot find kernel symbols: no kprobe on %s (%d); the kernel needs CONFIG_KPROBES and CONFIG_KALLSYMS\n",
		       kp.symbol_name, err);
		return err;
	}
	/* behind an ENDBR the address is as good: see msb_call() */
	static_call_update(msb_kallsyms_lookup_name, (msb_lookup_fn *)kp.addr);
	unregister_kprobe(&kp);
	return 0;
}

static unsigned long msb_need(const char *name)
{
	unsigned long addr = msb_lookup(name);

	if (!addr)
		pr_err("this kernel has no symbol %s; the bridge needs CONFIG_MPTCP, CONFIG_BPF_SYSCALL and CONFIG_KALLSYMS_ALL\n",
		       name);
	return addr;
}

#define MSB_FIND_CALL(name, ret, args) \
	addr = msb_need(#name);        \
	if (!addr)                     \
		return -ENOENT;        \
	static_call_update(msb_##name, (msb_fn_##name *)addr);
#define MSB_FIND_PROTO(name)    \
	addr = msb_need(#name); \
	if (!addr)              \
		return -ENOENT; \
	msb_##name = (const struct bpf_func_proto *)addr;

static int msb_find_symbols(void)
{
	unsigned long addr;

	MSB_FUNCTIONS(MSB_FIND_CALL)
	MSB_PROTOS(MSB_FIND_PROTO)
	return 0;
}

/* A kernel with the API of its own need not have these where we can see them. */
static int msb_find_api_symbols(void)
{
	unsigned long addr;

	MSB_API_FUNCTIONS(MSB_FIND_CALL)
	return 0;
}

static bool msb_untested;
module_param_named(untested, msb_untested, bool, 0444);
MODULE_PARM_DESC(untested, "load on kernels newer than the newest that was tested");

/*
 * What no BTF tells may change with any series: what the core does between the calls, and what
 * its flags mean. DKMS builds for each new kernel unasked, so someone has to have looked.
 */
static int msb_check_series(void)
{
	if (LINUX_VERSION_MAJOR < MSB_TESTED_MAJOR ||
	    (LINUX_VERSION_MAJOR == MSB_TESTED_MAJOR &&
	     LINUX_VERSION_PATCHLEVEL <= MSB_TESTED_MINOR))
		return 0;
	if (msb_untested) {
		pr_warn("Linux %d.%d is newer than %s, the newest that was tested: loaded all the same\n",
			LINUX_VERSION_MAJOR, LINUX_VERSION_PATCHLEVEL, MSB_TESTED);
		return 0;
	}
	pr_err("Linux %d.%d is newer than %s, the newest that was tested: not loaded; the parameter untested=1 overrides that\n",
	       LINUX_VERSION_MAJOR, LINUX_VERSION_PATCHLEVEL, MSB_TESTED);
	return -EOPNOTSUPP;
}

/*
 * The kernel loads a module whose BTF is missing or does not fit, and registering its kfuncs
 * and types then does nothing, and says that it succeeded.
 */
static int msb_check_btf(void)
{
	struct btf *btf = NULL;
	/* a type that no kernel has itself, or vmlinux would answer */
	s32 id = msb_call(bpf_find_btf_id)("bpf_struct_ops_mptcp_sched_clock", BTF_KIND_STRUCT,
					   &btf);

	if (id < 0) {
		pr_err("this module has no BTF that the kernel takes: it was built without this kernel's vmlinux; build it again (docs/use/troubleshooting.md)\n");
		return -ENOEXEC;
	}
	msb_call(btf_put)(btf);
	return 0;
}

static int msb_check_kernel(struct btf *vmlinux)
{
	if (IS_ERR_OR_NULL(vmlinux)) {
		pr_err("this kernel has no BTF of its own: it needs CONFIG_DEBUG_INFO_BTF\n");
		return -ENOENT;
	}
	return msb_check_series() ?: msb_check_btf() ?: msb_check_layout(vmlinux)
		       ?: msb_find_flags();
}

int msb_registered(const char *what, int err)
{
	if (err == -ENOMEM)
		pr_err("cannot register the %s: no memory\n", what);
	else if (err)
		pr_err("cannot register the %s (%d): was the module built for exactly this kernel?\n",
		       what, err);
	return err;
}

static int msb_register(struct btf *vmlinux, bool native)
{
	int err = msb_register_kfuncs(vmlinux, native);

	if (!err && !native)
		err = msb_register_struct_ops();
	return err ?: msb_register_clock();
}

static int msb_start(struct btf *vmlinux, bool native)
{
	int err = msb_watch_restarts();

	if (err)
		return err;
	err = msb_start_requests();
	if (err)
		goto no_requests;
	err = msb_register(vmlinux, native);
	if (!err)
		return 0;
	msb_stop_requests();
no_requests:
	msb_forget_restarts();
	return err;
}

static int __init msb_init(void)
{
	struct btf *vmlinux;
	bool native;
	int err;

	err = msb_find_lookup() ?: msb_find_symbols();
	if (err)
		return err;
	vmlinux = msb_call(bpf_get_btf_vmlinux)();
	err = msb_check_kernel(vmlinux);
	if (err)
		return err;
	/* MPTCP is never a module, so a type of the kernel's own is in vmlinux's BTF */
	native = msb_call(btf_find_by_name_kind)(vmlinux, "bpf_struct_ops_mptcp_sched_ops",
						 BTF_KIND_STRUCT) > 0;
	err = native ? 0 : msb_find_api_symbols();
	err = err ?: msb_start(vmlinux, native);
	if (!err && native)
		pr_info("this kernel has the scheduler API itself: only the bridge's own functions are added\n");
	/* modprobe takes EEXIST for "loaded already" */
	return err == -EEXIST ? -EINVAL : err;
}

/* What was registered goes with the module's BTF; maps and programs pin it. */
static void __exit msb_exit(void)
{
	msb_stop_requests();
	msb_forget_restarts();
	msb_forget_ops();
}

module_init(msb_init);
module_exit(msb_exit);

MODULE_DESCRIPTION("BPF struct_ops packet schedulers for MPTCP on stock kernels");
MODULE_LICENSE("GPL");
MODULE_VERSION(__stringify(MSB_VERSION));
