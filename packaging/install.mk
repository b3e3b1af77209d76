# SPDX-License-Identifier: GPL-2.0
#
# make install/uninstall: one table says what goes where. A file of a kind that is named here is
# installed by being in the tree.

SBINDIR ?= $(PREFIX)/sbin
BPFDIR ?= $(PREFIX)/lib/mptcp-sched
DATADIR ?= $(PREFIX)/share
# With what a scheduler of one's own is built: clang -I$(INCLUDEDIR)
INCLUDEDIR ?= $(PREFIX)/include/mptcp-sched
MANIFEST := $(BPFDIR)/manifest

# Units, and the hook of container runtimes. These look here and in /etc whatever the prefix is
# (oci-hooks(5)); who is not root writes to neither, so there it is with the rest (podman --hooks-dir).
UNITDIR ?= $(PREFIX)/lib/systemd/system
HOOKDIR ?= $(if $(DESTDIR)$(filter 0,$(shell id -u)),/usr/share,$(DATADIR))/containers/oci/hooks.d

# into DIRECTORY MODE FILE...: lines of the table (install.sh)
into = $(foreach f,$(3),$(2) $(f) $(1)/$(notdir $(f))\n)
# The same, for headers and documents: their folders are kept
into_tree = $(foreach f,$(3),$(2) $(f) $(1)/$(patsubst bpf/%,%,$(patsubst include/%,%,$(f)))\n)

# Made from the command's own tables: packaging/man/NAME.SECTION.in, and the completion
MANUALS := $(patsubst packaging/man/%.in,$(B)/man/%,$(wildcard packaging/man/*.in))
COMPLETION := $(B)/completion/mptcp-sched

DOCUMENTS := $(wildcard docs/*.md docs/*/*.md docs/*/*.json docs/img/*)

# What names the command's place, which may be another one each time
TEMPLATES := $(wildcard dist/*.in)
MADE := $(patsubst dist/%.in,$(B)/dist/%,$(TEMPLATES))

.PHONY: $(MADE)
$(MADE): $(B)/dist/%: dist/%.in
	$(Q)mkdir -p $(@D) && sed 's,@SBINDIR@,$(SBINDIR),' $< >$@

docs: $(MANUALS) $(COMPLETION)

manual = $(Q)mkdir -p $(@D) && $(PYTHON) packaging/manual.py $< $(RUN) $(B)/mptcp-sched >$@

$(B)/man/%: packaging/man/%.in packaging/manual.py $(B)/mptcp-sched
	$(call say,MAN,$@)
	$(manual)

$(COMPLETION): packaging/completion.bash.in packaging/manual.py $(B)/mptcp-sched
	$(call say,BASH,$@)
	$(manual)

INSTALLED = \
	$(call into,$(SBINDIR),0755,$(B)/mptcp-sched) \
	$(call into,$(BPFDIR),0644,$(BPF_OBJS)) \
	$(call into,$(BPFDIR),0755,$(EXPORTER)) \
	$(call into_tree,$(INCLUDEDIR),0644,$(BPF_HEADERS)) \
	$(call into_tree,$(DATADIR)/doc/mptcp-sched,0644,README.md CHANGELOG.md $(DOCUMENTS)) \
	$(call into,$(DATADIR)/mptcp-sched/grafana,0644,$(wildcard contrib/grafana/*.json)) \
	$(foreach s,5 8,$(call into,$(DATADIR)/man/man$(s),0644,$(filter %.$(s),$(MANUALS)))) \
	$(call into,$(DATADIR)/bash-completion/completions,0644,$(COMPLETION)) \
	$(call into,$(UNITDIR),0644,$(filter %.service,$(MADE)) $(wildcard dist/*.timer)) \
	$(call into,$(HOOKDIR),0644,$(filter %.json,$(MADE))) \
	$(call into,$(DATADIR)/doc/mptcp-sched/examples,0644,dist/mptcp-sched.conf)

.PHONY: docs install uninstall
install: loader bpf docs $(MADE)
	$(Q)printf '$(INSTALLED)' | DESTDIR='$(DESTDIR)' packaging/install.sh install $(MANIFEST)

uninstall:
	$(Q)DESTDIR='$(DESTDIR)' packaging/install.sh uninstall $(MANIFEST)

# --- packages, made anew when something of theirs has changed

PACKAGE_SOURCES := $(wildcard *.md) Makefile LICENSE \
	$(shell find bpf contrib debian dist docs include kmod loader packaging -type f ! -name '*.pyc')

.PHONY: deb rpm arch
deb rpm arch: %: $(B)/%/.made

$(B)/%/.made: packaging/%.sh $(PACKAGE_SOURCES)
	$(call say,$*,$(VERSION))
	$(Q)$< $(VERSION) $(CURDIR)/$(B)/$* >$(B)/$*.log 2>&1 || { tail -n 30 $(B)/$*.log; exit 1; }
	$(Q)touch $@
