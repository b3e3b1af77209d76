# SPDX-License-Identifier: GPL-2.0
#
# The command: loader/main.c and, each built upon the ones behind it, the folders cmd (a file per
# command), replay, sched, stats and trace, kernel, cli; the skeletons of loader/bpf/*.bpf.c and, embedded,
# every object of $(BPF_OBJS). A new scheduler in bpf/schedulers/ needs no change here.

L := $(B)/loader
LOADER_LIBS := libbpf json-c libcap inih libmnl
LOADER_CFLAGS = $(CFLAGS) -std=gnu11 -Wall -Wextra -Werror -Wno-unused-parameter \
	-D_GNU_SOURCE -DMPS_VERSION='"$(VERSION)"' -Iinclude -Iloader -I$(L) \
	$(shell $(PKG_CONFIG) --cflags $(LOADER_LIBS))
# libbpf is linked statically: the distribution's own may be too old (cli/error.h)
# and so is libmnl, which one command needs and all would pay for
LIBBPF ?= -l:libbpf.a
LIBMNL ?= -l:libmnl.a
LOADER_LDLIBS = $(LIBBPF) $(LIBMNL) $(shell $(PKG_CONFIG) --libs json-c libcap inih) -lelf -lz -lzstd

LOADER_SRCS := $(wildcard loader/main.c $(foreach d,cli kernel sched stats trace cmd,loader/$(d)/*.c) loader/replay/replay.c)
REPLAY_OBJS := $(foreach s,$(SCHEDULERS),$(L)/replay/scheduler_$(s).o)
LOADER_OBJS := $(patsubst loader/%.c,$(L)/%.o,$(LOADER_SRCS)) $(L)/builtins.o $(L)/replays.o $(REPLAY_OBJS)
LOADER_SKELS := $(patsubst loader/bpf/%.bpf.c,$(L)/bpf/%.skel.h,$(wildcard loader/bpf/*.bpf.c))

# A program of its own, from the same objects and loader/exporter/: what serves HTTP would add
# to every command's memory. It has the table of commands, but only the one is called.
EXPORTER_SRCS := $(wildcard loader/exporter/*.c)
EXPORTER_OBJS := $(patsubst loader/%.c,$(L)/%.o,$(EXPORTER_SRCS)) $(L)/exporter/page.o
EXPORTER := $(B)/mptcp-sched-exporter

loader: $(B)/mptcp-sched $(EXPORTER)

$(B)/mptcp-sched: $(LOADER_OBJS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LOADER_LDLIBS)

$(EXPORTER): $(filter-out $(L)/cmd/exporter.o,$(LOADER_OBJS)) $(EXPORTER_OBJS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LOADER_LDLIBS) $(shell $(PKG_CONFIG) --libs libmicrohttpd)

# Flags come from the Makefile, the version from dkms.conf
LOADER_FLAGS_FROM := Makefile loader/loader.mk kmod/dkms.conf

# Which headers an object is made of the compiler writes down beside it, as NAME.d. Before it has
# done so for the first time the skeletons must be there.
DEPS = -MMD -MP -MF $(@:.o=.d) -MT $@
-include $(wildcard $(L)/*.d $(L)/*/*.d)

$(L)/%.o: loader/%.c $(LOADER_FLAGS_FROM) | $(LOADER_SKELS)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LOADER_CFLAGS) $(DEPS) -c $< -o $@

$(L)/bpf/%.bpf.o: loader/bpf/%.bpf.c $(LOADER_FLAGS_FROM)
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) --target=bpf -mcpu=v3 $(BPF_CFLAGS) $(BPF_WARN) -Iinclude -Ibpf -Iloader $(BPF_SYS) \
		$(DEPS) -c $< -o $@.tmp
	$(Q)$(BPFTOOL) gen object $@ $@.tmp
	$(Q)rm -f $@.tmp

.PRECIOUS: $(L)/bpf/%.bpf.o

$(L)/bpf/%.skel.h: $(L)/bpf/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $* > $@

# One table entry per scheduler, with both of its objects (loader/sched/builtin.h).
# Looked at in every run, rewritten when a scheduler came or went.
.PHONY: loader-builtins
$(L)/builtins.c: loader-builtins
	$(Q)mkdir -p $(@D)
	$(Q){ printf '#include "sched/builtin.h"\n'; \
	  for s in $(SCHEDULERS); do \
	    printf 'MPS_EMBED(%s, "$(B)/bpf/bpf_%s.bpf.o", "$(B)/bpf/bpf_%s.pre615.bpf.o")\n' \
	      $$s $$s $$s; \
	  done; \
	  printf 'const struct builtin builtins[] = {\n'; \
	  for s in $(SCHEDULERS); do printf '\tMPS_BUILTIN(%s),\n' $$s; done; \
	  printf '};\nconst unsigned int nr_builtins = sizeof(builtins) / sizeof(builtins[0]);\n'; \
	} > $@.new; cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(L)/builtins.o: $(L)/builtins.c $(BPF_OBJS)
	$(call say,CC,$@)
	$(Q)$(CC) $(LOADER_CFLAGS) $(DEPS) -c $< -o $@

# Schedulers for user space (loader/replay/policy.c), from the source of their objects, by the same
# compiler. What only BPF has of it are attributes and places of fields in the kernel's types: the
# code that asks for these is dropped, and only the scheduler's one symbol can be seen.
REPLAY_CFLAGS := -O2 -std=gnu11 -ffunction-sections -fdata-sections -fPIE -Iinclude -Ibpf -Iloader $(BPF_WARN) \
	-Wno-unused-function -Wno-unused-variable -Wno-unused-const-variable -Wno-unknown-attributes \
	-D'preserve_access_index=annotate("")' -D'__builtin_preserve_access_index(x)=(x)' \
	-D'__builtin_preserve_field_info(...)=0' -D'__builtin_preserve_type_info(...)=0' \
	-D'__builtin_btf_type_id(...)=0'

define replay_compile
	$(call say,REPLAY,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(CLANG_TARGET) $(REPLAY_CFLAGS) $1 -DNAME=$* -DSOURCE='"schedulers/$*.bpf.c"' $(DEPS) -c $< -o $@.all
	$(Q)$(LD) -r --gc-sections --force-group-allocation -u replay_$* -o $@.tmp $@.all
	$(Q)$(OBJCOPY) --strip-unneeded --keep-global-symbol=replay_$* $@.tmp $@
	$(Q)rm -f $@.all $@.tmp
endef

$(L)/replay/scheduler_%.o: loader/replay/policy.c bpf/schedulers/%.bpf.c $(LOADER_FLAGS_FROM)
	$(call replay_compile,)

$(L)/replays.c: loader-builtins
	$(Q)mkdir -p $(@D)
	$(Q){ printf '#include "replay/policy.h"\n'; \
	  for s in $(SCHEDULERS); do printf 'extern const struct replay_sched replay_%s;\n' $$s; done; \
	  printf 'const struct replay_sched *const replay_scheds[] = {\n'; \
	  for s in $(SCHEDULERS); do printf '\t&replay_%s,\n' $$s; done; \
	  printf '};\nconst unsigned int nr_replay_scheds = sizeof(replay_scheds) / sizeof(replay_scheds[0]);\n'; \
	} > $@.new; cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(L)/replays.o: $(L)/replays.c
	$(call say,CC,$@)
	$(Q)$(CC) $(LOADER_CFLAGS) $(DEPS) -c $< -o $@

# The page that the exporter serves, and the policy that names what is in it.
$(L)/exporter/page.c: loader/exporter/ui.html loader/exporter/embed.py
	$(call say,PAGE,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(PYTHON) loader/exporter/embed.py $< >$@

$(L)/exporter/page.o: $(L)/exporter/page.c $(LOADER_FLAGS_FROM)
	$(call say,CC,$@)
	$(Q)$(CC) $(LOADER_CFLAGS) $(DEPS) -c $< -o $@
