# SPDX-License-Identifier: GPL-2.0
#
# Fuzz targets: libFuzzer with AddressSanitizer and UndefinedBehaviorSanitizer. Each name of
# targets.toml is a C file here; pick_NAME is pick.c with the scheduler NAME. `make fuzz-build`
# needs clang's runtime library (./vmtest.sh fuzz installs it).

F := $(B)/fuzz
FUZZ_TARGETS := $(shell sed -n 's/^name = "\(.*\)"/\1/p' tests/fuzz/targets.toml)
FUZZ_PICKS := $(filter pick_%,$(FUZZ_TARGETS))
FUZZ_HEADERS := $(wildcard tests/fuzz/*.h include/*/*.h)
FUZZ_FLAGS := -O1 -g1 -std=gnu11 -Wall -Wextra -Werror -Wno-unused-parameter -D_GNU_SOURCE \
	-fno-omit-frame-pointer -fno-sanitize-recover=all -Itests/fuzz -Iinclude
FUZZ_SANITIZE := -fsanitize=fuzzer,address,undefined
# The same for objects. tests/covered.py has both say what was run, in place of what is wrong.
FUZZ_WATCH := -fsanitize=fuzzer-no-link,address,undefined

# The command's objects once more, so that whatever a target calls of them is watched, too.
FUZZ_LOADER := $(patsubst loader/%.c,$(F)/loader/%.o,$(LOADER_SRCS))
FUZZ_LOADER_CFLAGS = $(FUZZ_FLAGS) -DMPS_VERSION='"$(VERSION)"' -Iloader -I$(L) \
	$(shell $(PKG_CONFIG) --cflags $(LOADER_LIBS))
FUZZ_LOADER_LDLIBS = $(LOADER_LDLIBS) $(shell $(PKG_CONFIG) --libs libmicrohttpd)
FUZZ_OBJECTS := $(F)/objects/tiny.bpf.o $(F)/objects/tiny.pre615.bpf.o

.PHONY: fuzz-build
fuzz-build: $(addprefix $(F)/,$(FUZZ_TARGETS)) $(FUZZ_OBJECTS)

# Those that take nothing but the headers.
FUZZ_PURE := $(FUZZ_PICKS) copies ranges store estimates

$(addprefix $(F)/,$(FUZZ_PICKS)): $(F)/pick_%: tests/fuzz/pick.c $(FUZZ_HEADERS) tests/fuzz/fuzz.mk
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) $(FUZZ_SANITIZE) -DFUZZ_POLICY='"$*"' $< -o $@

$(addprefix $(F)/,$(filter-out $(FUZZ_PICKS),$(FUZZ_PURE))): $(F)/%: tests/fuzz/%.c $(FUZZ_HEADERS) \
		tests/fuzz/fuzz.mk
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) $(FUZZ_SANITIZE) $< -o $@

-include $(wildcard $(F)/*.d $(F)/loader/*.d $(F)/loader/*/*.d)

$(F)/loader/%.o: loader/%.c $(LOADER_FLAGS_FROM) tests/fuzz/fuzz.mk | $(LOADER_SKELS)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_LOADER_CFLAGS) $(DEPS) $(FUZZ_WATCH) \
		-Dmain=command_main -c $< -o $@

# Decisions of recordings, as loader.mk makes them.
FUZZ_REPLAY := $(patsubst %,$(F)/loader/replay/scheduler_%.o,$(SCHEDULERS))
$(F)/loader/replay/scheduler_%.o: loader/replay/policy.c bpf/schedulers/%.bpf.c tests/fuzz/fuzz.mk
	$(call replay_compile,-O1 -g1 -fno-sanitize-recover=all $(FUZZ_WATCH))

$(F)/loader.a: $(FUZZ_LOADER) $(L)/builtins.o $(L)/replays.o $(FUZZ_REPLAY)
	$(Q)rm -f $@
	$(Q)$(AR) qcs $@ $^

# The rest takes of the command what it has not got itself, some of it under other names.
$(addprefix $(F)/,$(filter-out $(FUZZ_PURE),$(FUZZ_TARGETS))): $(F)/%: tests/fuzz/%.c $(F)/loader.a
	$(call say,FUZZ,$@)
	$(Q)$(CLANG) $(FUZZ_LOADER_CFLAGS) $(FUZZ_SANITIZE) -MMD -MP -MF $@.d -MT $@ $< -o $@ \
		$(F)/loader.a $(FUZZ_LOADER_LDLIBS)

$(F)/requests: $(L)/exporter/page.c

# What target `object` begins with.
$(F)/objects/%.pre615.bpf.o: tests/fuzz/%.bpf.c $(BPF_HEADERS)
	$(call bpf_compile,-DMPS_PRE615)

$(F)/objects/%.bpf.o: tests/fuzz/%.bpf.c $(BPF_HEADERS)
	$(call bpf_compile,)
