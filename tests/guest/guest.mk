# SPDX-License-Identifier: GPL-2.0
#
# BPF programs of the guest's tests that run in virtual time, where there is no compiler.

GUEST_OBJ := $(addprefix $(B)/tests/,queues.bpf.o passes.bpf.o looping.bpf.o looping.pre615.bpf.o \
	asking.bpf.o asking.pre615.bpf.o expanding.bpf.o expanding.pre615.bpf.o \
	glance.bpf.o glance.pre615.bpf.o timed.bpf.o timed.pre615.bpf.o)

.PHONY: guest-obj
guest-obj: $(GUEST_OBJ) $(B)/tests/many $(B)/tests/churn

# Namespaces and connections by the thousand; connections by the million.
$(B)/tests/many $(B)/tests/churn: $(B)/tests/%: tests/guest/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Wall -Wextra -Werror $< -o $@

$(B)/tests/%.pre615.bpf.o: tests/guest/bpf/%.bpf.c $(BPF_HEADERS)
	$(call bpf_compile,-DMPS_PRE615)

$(B)/tests/%.bpf.o: tests/guest/bpf/%.bpf.c $(BPF_HEADERS)
	$(call bpf_compile,)

# A module that holds a device's transmit queues, for the kernel KVER.
.PHONY: guest-kmod
guest-kmod: $(foreach m,txhold standin newer moved,$(B)/tests/$(m)-$(KVER).ko)

$(B)/tests/txhold-$(KVER).ko: tests/guest/kmod/txhold.c tests/guest/kmod/Kbuild
	$(call say,KMOD,$@)
	$(Q)mkdir -p $(B)/tests/$(KVER)
	$(Q)cp $^ $(B)/tests/$(KVER)
	$(Q)$(MAKE) -s -C /lib/modules/$(KVER)/build M=$(CURDIR)/$(B)/tests/$(KVER) \
		CONFIG_DEBUG_INFO_BTF_MODULES= modules
	$(Q)cp $(B)/tests/$(KVER)/txhold.ko $@

# The bridge as it must not be loaded: built as if the kernel were newer than any that was tested,
bridge_variant = $(Q)$(MAKE) -s -C kmod KVER=$(KVER) OUT=$(CURDIR)/$(B)/tests/$(KVER)/$*

$(B)/tests/%-$(KVER).ko: $(wildcard kmod/*)
	$(call say,KMOD,$@)
	$(call variant_$*)
	$(Q)cp $(B)/tests/$(KVER)/$*/mptcp_sched_bpf.ko $@

variant_newer = $(bridge_variant) MSB_CFLAGS="-DMSB_TESTED_MAJOR=6 -DMSB_TESTED_MINOR=1" >/dev/null

# and with types of another kernel, where a struct has a member more.
define variant_moved
$(Q)rm -rf $(B)/tests/$(KVER)/$*
$(bridge_variant) types
$(Q)sed -i '/^struct mptcp_sock {/,/^}/s/^\tu64 write_seq;/\tu64 gap;\n&/' $(B)/tests/$(KVER)/$*/gen/vmlinux.h
$(bridge_variant) >/dev/null
endef

# A module of the bridge's name that is of no use.
$(B)/tests/standin-$(KVER).ko: tests/guest/kmod/standin.c
	$(call say,KMOD,$@)
	$(Q)mkdir -p $(B)/tests/$(KVER)-standin
	$(Q)cp $< $(B)/tests/$(KVER)-standin/mptcp_sched_bpf.c
	$(Q)echo 'obj-m := mptcp_sched_bpf.o' >$(B)/tests/$(KVER)-standin/Kbuild
	$(Q)$(MAKE) -s -C /lib/modules/$(KVER)/build M=$(CURDIR)/$(B)/tests/$(KVER)-standin \
		CONFIG_DEBUG_INFO_BTF_MODULES= modules
	$(Q)cp $(B)/tests/$(KVER)-standin/mptcp_sched_bpf.ko $@
