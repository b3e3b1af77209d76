# SPDX-License-Identifier: GPL-2.0
#
# The probes of the benchmarks. Built with the rest: guests in virtual time have no compiler.

BENCH_OBJ := $(B)/bench/cost.bpf.o $(B)/bench/cwnd.bpf.o

.PHONY: bench-obj
bench-obj: $(BENCH_OBJ)

$(B)/bench/%.bpf.o: bench/%.bpf.c
	$(call bpf_compile,)
