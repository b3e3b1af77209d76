/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs of a scheduler's object that are not struct_ops: above all its ACK
 * clock, which asks for copies of data. Each is attached as long as the
 * scheduler is registered, by a link that is pinned at PIN_DIR/NAME@PROGRAM.
 */
#ifndef MPS_TRACERS_H
#define MPS_TRACERS_H

#include <stdbool.h>
#include "object.h"
#include "registry.h"
#include "report.h"

struct bpf_link;

struct tracers {
	struct bpf_link *link[MAX_TRACERS];
	const char *program[MAX_TRACERS]; /* owned by the object */
	unsigned int nr;
};

/*
 * Before the object is loaded. Where the kernel cannot be asked for copies, the
 * programs that would ask are left out: they would be pure cost. False then.
 */
bool tracers_choose(const struct object *o);

/* Attaches all of them, or none; then tracers_keep() or tracers_undo(). */
enum exit_code tracers_attach(struct tracers *t, const struct object *o, const char *operation);
/* Pins all of them, or none. */
enum exit_code tracers_pin(struct tracers *t, const struct object *o, const char *operation);
/* Detaches them, pinned or not. */
void tracers_undo(struct tracers *t, const struct object *o);
/* Leaves them to their pins. */
void tracers_keep(struct tracers *t);

/* A file in the way of a pin? */
enum exit_code tracers_check_pins(const struct object *o, const char *operation);

/* Taken out of PIN_DIR, but attached until they are let go. */
struct tracer_pins {
	struct {
		char path[512];
		int fd;
	} pin[MAX_TRACERS];
	unsigned int nr;
};

/* Takes all pins of a scheduler out, or none. */
enum exit_code tracer_pins_take(struct tracer_pins *p, const char *operation, const char *name);
void tracer_pins_restore(struct tracer_pins *p);
void tracer_pins_release(struct tracer_pins *p);

/* Is there any pin of this scheduler's tracers? */
bool tracer_pins_exist(const char *name);

#endif /* MPS_TRACERS_H */
