# SPDX-License-Identifier: GPL-2.0
#
# BPF programs of the guest's tests that run in virtual time, where there is no compiler.

GUEST_OBJ := $(addprefix $(B)/tests/,queues.bpf.o passes.bpf.o looping.bpf.o looping.pre615.bpf.o \
	expanding.bpf.o expanding.pre615.bpf.o)

.PHONY: guest-obj
guest-obj: $(GUEST_OBJ) $(B)/tests/many

# Namespaces and connections by the thousand.
$(B)/tests/many: tests/guest/many.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Wall -Wextra -Werror $< -o $@

$(B)/tests/%.pre615.bpf.o: tests/guest/bpf/%.bpf.c $(BPF_HEADERS)
	$(call bpf_compile,-DMPS_PRE615)

$(B)/tests/%.bpf.o: tests/guest/bpf/%.bpf.c $(BPF_HEADERS)
	$(call bpf_compile,)

# A module that holds a device's transmit queues, for the kernel KVER.
.PHONY: guest-kmod
guest-kmod: $(B)/tests/txhold-$(KVER).ko

$(B)/tests/txhold-$(KVER).ko: tests/guest/kmod/txhold.c tests/guest/kmod/Kbuild
	$(call say,KMOD,$@)
	$(Q)mkdir -p $(B)/tests/$(KVER)
	$(Q)cp $^ $(B)/tests/$(KVER)
	$(Q)$(MAKE) -s -C /lib/modules/$(KVER)/build M=$(CURDIR)/$(B)/tests/$(KVER) \
		CONFIG_DEBUG_INFO_BTF_MODULES= modules
	$(Q)cp $(B)/tests/$(KVER)/txhold.ko $@
