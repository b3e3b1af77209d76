/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a scheduler's object has besides its hooks: its ACK clock (struct mptcp_sched_clock), which
 * asks for copies of data, and programs that are no struct_ops. Each is attached as long as the
 * scheduler is registered, by a link that is pinned at PIN_DIR/NAME@PROGRAM, or NAME@CLOCK.
 */
#ifndef MPS_AUX_PROGS_H
#define MPS_AUX_PROGS_H

#include <stdbool.h>
#include "cli/error.h"
#include "kernel/registry.h"
#include "sched/object.h"

struct bpf_link;
struct btf;

struct aux_progs {
	struct bpf_link *link[MAX_AUX_PROGS];
	const char *name[MAX_AUX_PROGS]; /* owned by the object */
	unsigned int nr;
};

/*
 * Before the object is loaded. Where the kernel cannot be asked for copies, what
 * would ask is left out: it would be pure cost. False then. So is what a tunable has
 * switched off (MPS_ONLY_WITH() of bpf/frame/tunables.h).
 */
bool aux_progs_choose(struct object *o);

/* The tunable by which copies can be switched off, or NULL. */
const char *aux_progs_copies_with(const struct btf *btf);

/* Attaches all of them, or none; then aux_progs_keep() or aux_progs_undo(). */
enum exit_code aux_progs_attach(struct aux_progs *a, const struct object *o);
/* Pins all of them, or none. */
enum exit_code aux_progs_pin(struct aux_progs *a, const struct object *o);
/* Detaches them, pinned or not. */
void aux_progs_undo(struct aux_progs *a, const struct object *o);
/* Leaves them to their pins. */
void aux_progs_keep(struct aux_progs *a);

/* A file in the way of a pin? */
enum exit_code aux_progs_check_pins(const struct object *o);

/* Those of other programs that go with a scheduler are among them: sched/steer_option.h. */
#define MAX_AUX_PINS (MAX_AUX_PROGS + 32)

/* Taken out of PIN_DIR, but attached until they are let go. */
struct aux_pins {
	struct {
		char path[512];
		int fd;
	} pin[MAX_AUX_PINS];
	unsigned int nr;
};

/* Takes all pins of a scheduler out, or none. */
enum exit_code aux_pins_take(struct aux_pins *p, const char *name);
void aux_pins_restore(struct aux_pins *p);
/* Lets go of them; a clock is off then, whoever else holds its link. */
void aux_pins_release(struct aux_pins *p);

/* Is there any pin of this scheduler's other programs? */
bool aux_pins_exist(const char *name);

#endif /* MPS_AUX_PROGS_H */
