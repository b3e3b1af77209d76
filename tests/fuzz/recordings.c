// SPDX-License-Identifier: GPL-2.0
/*
 * A recording that somebody else has made, replayed by all schedulers (loader/cmd/replay.c,
 * loader/trace/recording.c): any bytes, or chunks with snapshots and states that no kernel may have
 * had. Claims: it is refused in one line, or each decision that a scheduler was asked for is
 * counted, as the same or as another one; the file is not read beyond its end.
 */
#include <stdarg.h>
#define output_note note_nothing
#include "../../loader/cmd/replay.c"
#include "said.h"
#include "snapshot.h"

#define SETTINGS 40

static struct memory file;
static struct {
	char text[1 << 18];
	size_t len;
} made;

void note_nothing(const char *fmt, ...)
{
}

static void put(const void *data, size_t size)
{
	if (size > sizeof(made.text) - made.len)
		return;
	memcpy(made.text + made.len, data, size);
	made.len += size;
}

static void put_chunk(struct draw *d, __u32 kind, const void *data, size_t size)
{
	struct recording_chunk chunk = { .kind = kind, .size = (__u32)size };

	if (draw_byte(d) == 255)
		chunk.size = (__u32)draw_word(d, 4);
	put(&chunk, sizeof(chunk));
	put(data, size);
}

static void fill(struct draw *d, void *to, size_t size)
{
	uint8_t *at = to;

	while (size--)
		*at++ = draw_byte(d);
}

static void draw_function(struct draw *d, __u32 target)
{
	struct recording_function f = { .target = target,
					.what = draw_byte(d) % (OBSERVED_GLANCE + 1) };
	const struct replay_sched *s = replay_scheds[draw_byte(d) % nr_replay_scheds];
	const uint8_t how = draw_byte(d);

	snprintf(f.sched, sizeof(f.sched), "%s", how & 1 ? "bpf_mine" : s->name);
	snprintf(f.policy, sizeof(f.policy), "%s", s->policy[how % s->nr_policies].name);
	if (how & 2)
		fill(d, f.tunables, SETTINGS);
	if (how & 4)
		memset(f.sched, 'x', sizeof(f.sched));
	put_chunk(d, RECORDING_FUNCTION, &f, sizeof(f));
}

/* As recording_add() writes it. */
static void draw_decision(struct draw *d, struct mps_trace_rec *rec)
{
	static char text[sizeof(*rec) + PATHS * sizeof(rec->conn.path[0])];
	const uint8_t how = draw_byte(d);
	size_t i, size = sizeof(rec->head);

	rec->head.target = draw_byte(d) & 7;
	rec->head.token = draw_byte(d) & 3;
	rec->head.has_state = draw_bit(d);
	rec->head.answer = draw_word(d, 8);
	if (how & 1) {
		fill(d, &rec->conn, sizeof(rec->conn));
		rec->conn.nr_paths %= how & 8 ? PATHS + 1 : PATHS + 9;
	} else {
		draw_conn(d, &rec->conn, 500);
	}
	if (how & 2)
		fill(d, &rec->priv, sizeof(rec->priv));
	memcpy(text, &rec->head, size);
	if (how & 4) {
		memcpy(text + size, &rec->conn, offsetof(struct mps_conn, path));
		size += offsetof(struct mps_conn, path);
		for (i = 0; i < rec->conn.nr_paths; i++, size += sizeof(rec->conn.path[0]))
			memcpy(text + size, &rec->conn.path[i % PATHS], sizeof(rec->conn.path[0]));
		memcpy(text + size, &rec->priv, sizeof(rec->priv));
		size += sizeof(rec->priv);
	}
	put_chunk(d, RECORDING_DECISION, text, size);
}

static void draw_chunks(struct draw *d)
{
	static struct mps_trace_rec rec;
	const struct recording_header h = {
		.magic = RECORDING_MAGIC,
		.version = RECORDING_VERSION,
		.head_size = sizeof(struct mps_trace_head),
		.conn_size = sizeof(struct mps_conn),
		.priv_size = sizeof(struct mps_priv),
		.get_subflow = draw_bit(d),
	};
	const struct recording_end end = { .seen = 7, .kept = 3, .lost = 4 };
	__u32 targets = 0;

	memset(&rec, 0, sizeof(rec));
	put(&h, sizeof(h));
	draw_function(d, targets++);
	while (draw_more(d)) {
		const uint8_t kind = draw_byte(d);

		if (kind < 32)
			draw_function(d, targets++);
		else if (kind < 248)
			draw_decision(d, &rec);
		else
			put_chunk(d, kind & 3, &end, sizeof(end));
	}
	put_chunk(d, RECORDING_END, &end, sizeof(end));
}

/* As where the recorder was killed. */
static void cut(uint8_t bytes)
{
	made.len -= bytes < made.len ? bytes : 0;
}

/* What was decided, class by class, is what was not the same. */
static void check(const struct candidate *c)
{
	__u64 others = 0;
	unsigned int was, is;

	for (was = 0; was < NR_REPLAY_CLASSES; was++)
		for (is = 0; is < NR_REPLAY_CLASSES; is++)
			others += c->instead[was][is];
	claim(c->same + others == c->decisions, "each decision is the same, or another one");
}

static enum exit_code replay(struct replaying *r)
{
	ERROR_ABOUT("replay", file.path);
	enum exit_code ret = EX_OK;
	unsigned int i;

	for (i = 0; i < nr_replay_scheds; i++)
		claim(candidate_parse(add(r), replay_scheds[i]->name) == EX_OK, "a scheduler");
	ret = recording_open(&r->file, file.path);
	if (ret != EX_OK)
		return ret;
	for (i = 0; i < nr_replay_scheds; i++)
		replay_scheds[i]->set_form(r->file.header->get_subflow);
	return read_all_of(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct args args = { 0 };
	struct draw d = { data, data + size };
	struct replaying r = { .args = &args };
	const uint8_t how = draw_byte(&d);
	unsigned int i;

	made.len = 0;
	if (how & 1)
		put(d.at, (size_t)(d.end - d.at));
	else
		draw_chunks(&d);
	cut(how >> 2);
	memory_set(&file, made.text, made.len);
	said_begin(false);
	said_end(replay(&r));
	claim(r.file.offset <= r.file.len, "it ends where it ends");
	for (i = 0; i < r.nr; i++) {
		check(&r.candidate[i]);
		candidate_free(&r.candidate[i]);
	}
	free(r.candidate);
	free(r.function);
	recording_close(&r.file);
	return 0;
}
