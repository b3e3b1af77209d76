// SPDX-License-Identifier: GPL-2.0
/* `trace --record`: what a recording has besides decisions. */
#include <stdio.h>
#include "cmd/trace.h"
#include "kernel/kern.h"
#include "sched/tunable_live.h"

/* "beta=0.25 copy=1"; what cannot be read is as it comes. */
static void tunables_text(const char *sched, char *buf, size_t size)
{
	struct tunable_live l;
	char number[40];
	unsigned int i;
	__u32 value;
	size_t at = 0;

	*buf = '\0';
	if (tunable_live_open(&l, sched) == EX_OK) {
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

void trace_record_functions(struct recording *r, const struct observers *o)
{
	while (r->functions < o->nr) {
		const struct observer *of = &o->at[r->functions];
		struct recording_function f = { .target = r->functions, .what = of->what };

		snprintf(f.sched, sizeof(f.sched), "%s", o->sched[of->sched].name);
		snprintf(f.policy, sizeof(f.policy), "%s", of->policy);
		tunables_text(f.sched, f.tunables, sizeof(f.tunables));
		recording_add_function(r, &f);
	}
}

enum exit_code trace_record_begin(struct recording *r, const struct args *args, double to_real)
{
	struct kern k;

	kern_probe(&k);
	return recording_create(r, args->record, k.form == FORM_PRE615, args->anonymise, to_real);
}
