// SPDX-License-Identifier: GPL-2.0
#include <ctype.h>
#include "exporter/out.h"

/* OpenMetrics' families of counters are named without their samples' suffix. */
void out_family(const struct out *o, enum kind kind, const char *name, const char *text)
{
	const char *suffix = kind == COUNTER && !o->openmetrics ? "_total" : "";

	fprintf(o->f, "# HELP " PREFIX "%s%s %c%s.\n", name, suffix, toupper(*text), text + 1);
	fprintf(o->f, "# TYPE " PREFIX "%s%s %s\n", name, suffix,
		kind == COUNTER ? "counter" : "gauge");
}

/* What is not printable ASCII as \xNN. */
void out_label(const struct out *o, const char *key, const char *value, bool first)
{
	fprintf(o->f, "%s%s=\"", first ? "" : ",", key);
	for (; *value; value++) {
		const unsigned char c = (unsigned char)*value;

		if (c == '\\' || c == '"')
			fprintf(o->f, "\\%c", c);
		else if (c < ' ' || c > '~')
			fprintf(o->f, "\\\\x%02X", c);
		else
			fputc(c, o->f);
	}
	fputc('"', o->f);
}

void out_begin(const struct out *o, enum kind kind, const char *name)
{
	fprintf(o->f, PREFIX "%s%s{", name, kind == COUNTER ? "_total" : "");
}

void out_end(const struct out *o, __u64 value)
{
	fprintf(o->f, "} %llu\n", (unsigned long long)value);
}
