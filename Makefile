# SPDX-License-Identifier: GPL-2.0
#
# make                      the command and the schedulers, into build/
# make kmod KVER=...        the bridge module for an installed headers package
# make install              the command and the schedulers, below PREFIX=/usr/local; DESTDIR= is for packagers
# make kmod-install         the bridge module, where modprobe finds it; DESTDIR= as above
# make uninstall            removes exactly what `make install` made
# make deb                  Debian's packages, into build/deb: the command, and the bridge for DKMS
# make rpm                  the same for Fedora, into build/rpm
# make arch                 the same for Arch Linux, into build/arch
# make check-host [T=rr]    tests that need no VM, or those of one file
# make lint                 formatters, linters, how long sentences are, spelling
# make format               formats C and Python
# make compile-commands     build/compile_commands.json, by which clangd knows BPF and user-space files
# make coverage             what the tests run of the decision functions and the parsers; takes clang's runtime
# make results              which committed results are older than the code that they measure
# make clean                removes what was built, but no root, no kernel, and no corpus of the fuzzers
# V=1 shows the commands.

# The version's one place is kmod/dkms.conf, since DKMS reads it as plain text.
VERSION := $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' kmod/dkms.conf)
PREFIX ?= /usr/local
KVER ?= $(shell uname -r)

B := build
CLANG ?= clang
# For another architecture: --target=TRIPLET, and what runs its programs here (debian/rules)
CLANG_TARGET ?=
RUN ?=
OBJCOPY ?= objcopy
BPFTOOL ?= bpftool
PYTHON ?= python3
PKG_CONFIG ?= pkg-config
CFLAGS ?= -O2 -g
BPF_CFLAGS ?= -O2 -g

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-8s %s\n' $(1) $(2)
endif

.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all bpf loader kmod kmod-install check-host lint coverage results format compile-commands clean help

all: loader bpf docs bench-obj guest-obj

# --- schedulers: one source, one object per form of the hooks (bpf/kernel/compat.h)

SCHEDULERS := $(patsubst bpf/schedulers/%.bpf.c,%,$(wildcard bpf/schedulers/*.bpf.c))
BPF_OBJS := $(foreach s,$(SCHEDULERS),$(B)/bpf/bpf_$(s).bpf.o $(B)/bpf/bpf_$(s).pre615.bpf.o)
BPF_HEADERS := $(wildcard bpf/*/*.h include/*/*.h)
BPF_WARN := -Wall -Wextra -Werror -Wno-unused-parameter
# Debian's clang does not look into the multiarch directory for -target bpf
BPF_SYS := -idirafter /usr/include/$(shell uname -m)-linux-gnu

define bpf_compile
$(call say,BPF,$@)
$(Q)mkdir -p $(@D)
$(Q)$(CLANG) --target=bpf -mcpu=v3 $(BPF_CFLAGS) $(BPF_WARN) $(1) -Iinclude -Ibpf $(BPF_SYS) \
	-c $< -o $@.tmp
$(Q)$(BPFTOOL) gen object $@ $@.tmp
$(Q)rm -f $@.tmp
endef

bpf: $(BPF_OBJS)

$(B)/bpf/bpf_%.pre615.bpf.o: bpf/schedulers/%.bpf.c $(BPF_HEADERS)
	$(call bpf_compile,-DMPS_PRE615)

$(B)/bpf/bpf_%.bpf.o: bpf/schedulers/%.bpf.c $(BPF_HEADERS)
	$(call bpf_compile,)

# --- the command

include loader/loader.mk

# --- the probe of the benchmarks

include bench/bench.mk

# --- programs of the guest's tests

include tests/guest/guest.mk

# --- fuzz targets

include tests/fuzz/fuzz.mk

# --- the bridge

kmod:
	$(call say,KMOD,$(KVER))
	$(Q)$(MAKE) -C kmod KVER=$(KVER) V=$(V) OUT=$(CURDIR)/$(B)/kmod/$(KVER)

kmod-install:
	$(Q)$(MAKE) -C kmod KVER=$(KVER) OUT=$(CURDIR)/$(B)/kmod/$(KVER) DESTDIR=$(DESTDIR) install

# --- installing

include packaging/install.mk

# --- checks

C_SOURCES = $(shell git ls-files --cached --others --exclude-standard '*.c' '*.h')
SH_SOURCES = $(shell git ls-files --cached --others --exclude-standard '*.sh' .ci/run contrib/pre-commit tests/selftests/bin/ip)

check-host:
	$(Q)$(PYTHON) -c 'import pytest' 2>/dev/null || { echo 'make check-host: $(PYTHON) has no pytest:' \
		'install python3-pytest, or take ./vmtest.sh test NAME, which brings its own' >&2; exit 1; }
	$(Q)$(PYTHON) -m pytest -q -ra --durations=10 --durations-min=20 $(TURN:%=--turn=%) $(if $(T),$(T:%=tests/host/test_%.py),tests/host)

# What the head of this file says.
help:
	$(Q)sed -n '/^# make/,/^$$/s/^# \{0,1\}//p' Makefile

lint:
	$(Q)clang-format --dry-run -Werror $(C_SOURCES)
	$(Q)shellcheck -x $(SH_SOURCES)
	$(Q)ruff check .
	$(Q)ruff format --check .
	$(Q)python3 tests/words.py
	$(Q)python3 tests/spelling.py

coverage:
	$(Q)$(PYTHON) tests/covered.py $(COMMIT:%=--commit %)

results:
	$(Q)$(PYTHON) tests/results.py

format:
	$(Q)clang-format -i $(C_SOURCES)
	$(Q)ruff format .

# Made anew when a file came or went, or when flags may have changed. EDITOR_SEES: options of the script.
compile-commands: $(B)/compile_commands.json

$(B)/compile_commands.json: contrib/compile_commands.py Makefile $(wildcard */*.mk */*/*.mk) \
		$(sort $(dir $(wildcard bpf/*/*.c loader/*.c loader/*/*.c tests/*/*.c tests/*/*/*.c)))
	$(call say,CLANGD,$@)
	$(Q)$(PYTHON) $< $@ $(EDITOR_SEES)

clean:
	$(Q)rm -rf $(B)/bpf $(B)/loader $(B)/man $(B)/completion $(B)/dist $(B)/dkms \
		$(B)/deb $(wildcard $(B)/deb-*) $(B)/rpm $(B)/arch \
		$(B)/kmod $(B)/bench $(B)/tests $(B)/host $(B)/coverage $(B)/mptcp-sched $(EXPORTER) \
		$(filter-out $(B)/fuzz/corpus,$(wildcard $(B)/fuzz/*)) \
		$(B)/compile_commands.json
