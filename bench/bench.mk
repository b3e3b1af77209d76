# SPDX-License-Identifier: GPL-2.0
#
# The probe of bench/cost.py. Built with the rest: guests in virtual time have no compiler.

BENCH_OBJ := $(B)/bench/cost.bpf.o

.PHONY: bench-obj
bench-obj: $(BENCH_OBJ)

$(BENCH_OBJ): bench/cost.bpf.c
	$(call bpf_compile,)
