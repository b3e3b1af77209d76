// SPDX-License-Identifier: GPL-2.0
/* `trace --record`: what a recording has besides decisions. */
#include <stdio.h>
#include "cmd/trace.h"
#include "kernel/kern.h"
#include "kernel/registry.h"
#include "sched/tunable_live.h"

/* "beta=0.25 copy=1"; what cannot be read is as it comes. NULL: it is gone. */
static void tunables_text(const struct sched *sched, char *buf, size_t size)
{
	struct tunable_live l;
	char number[40];
	unsigned int i;
	__u32 value;
	size_t at = 0;

	*buf = '\0';
	if (!sched)
		return;
	if (tunable_live_open_sched(&l, sched) == EX_OK) {
		for (i = 0; i < l.tunables.nr && at < size; i++) {
			if (tunable_live_value(&l, &l.tunables.t[i], &value))
				continue;
			tunable_value_format(&l.tunables.t[i], value, number, sizeof(number));
			at += (size_t)snprintf(buf + at, size - at, "%s%s=%s", at ? " " : "",
					       l.tunables.t[i].name, number);
		}
	}
	tunable_live_close(&l);
}

/* By their maps: a scheduler that connections kept has the name of the one that came after it. */
static void add_functions(struct recording *r, const struct observers *o)
{
	struct registry reg;

	registry_read(&reg);
	while (r->functions < o->nr) {
		const struct observer *of = &o->at[r->functions];
		const struct observed_sched *s = &o->sched[of->sched];
		struct recording_function f = { .target = r->functions, .what = of->what };

		snprintf(f.sched, sizeof(f.sched), "%s", s->name);
		snprintf(f.policy, sizeof(f.policy), "%s", of->policy);
		tunables_text(registry_find_map(&reg, s->map_id), f.tunables, sizeof(f.tunables));
		recording_add_function(r, &f);
	}
	registry_free(&reg);
}

void trace_record_functions(struct recording *r, const struct observers *o)
{
	if (r->functions < o->nr)
		add_functions(r, o);
}

enum exit_code trace_record_begin(struct recording *r, const struct args *args, double to_real)
{
	struct kern k;

	kern_probe(&k);
	return recording_create(r, args->record, k.form == FORM_PRE615, args->anonymise, to_real);
}
