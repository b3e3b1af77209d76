// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "cli/input.h"
#include "cli/util.h"
#include "trace/recording.h"

/* Of a connection before its paths, which are not all there. */
#define CONN_HEAD offsetof(struct mps_conn, path)

static void put(struct recording *r, __u32 kind, const void *data, size_t size)
{
	const struct recording_chunk chunk = { .kind = kind, .size = (__u32)size };

	fwrite(&chunk, sizeof(chunk), 1, r->file);
	fwrite(data, size, 1, r->file);
}

enum exit_code recording_create(struct recording *r, const char *path, bool get_subflow,
				bool anonymise, double to_real)
{
	struct recording_header h = {
		.magic = RECORDING_MAGIC,
		.version = RECORDING_VERSION,
		.head_size = sizeof(struct mps_trace_head),
		.conn_size = sizeof(struct mps_conn),
		.priv_size = sizeof(struct mps_priv),
		.get_subflow = get_subflow,
		.anonymised = anonymise,
		.to_real = to_real,
		.program = MPS_VERSION,
	};
	struct utsname machine;
	int fd;

	*r = (struct recording){ .path = path, .anonymise = anonymise };
	if (!uname(&machine))
		snprintf(h.kernel, sizeof(h.kernel), "%s", machine.release);
	/* it has addresses of others' connections */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	r->file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!r->file)
		return fail_on(code_of(errno), path,
			       errno == EEXIST ? "name another file, or remove it" : NULL, "%s",
			       strerror(errno));
	fwrite(&h, sizeof(h), 1, r->file);
	return EX_OK;
}

void recording_add_function(struct recording *r, const struct recording_function *f)
{
	put(r, RECORDING_FUNCTION, f, sizeof(*f));
	r->functions++;
}

static size_t ip_len(const struct mps_addr *a)
{
	return a->family == AF_INET ? 4 : 16;
}

/* The same number for the same address: of 198.18.0.0/15 or 2001:db8::/32, which nobody has. */
static void hide(struct recording *r, struct mps_addr *a)
{
	unsigned int i;

	for (i = 0; i < r->nr_known; i++)
		if (r->known[i].family == a->family && !memcmp(r->known[i].ip, a->ip, ip_len(a)))
			break;
	if (i == r->nr_known) {
		r->known = grow(r->known, r->nr_known, sizeof(*r->known));
		r->known[r->nr_known++] = *a;
	}
	memset(a->ip, 0, sizeof(a->ip));
	if (a->family == AF_INET) {
		a->ip[0] = 198;
		a->ip[1] = (__u8)(18 + (i >> 16 & 1));
		a->ip[2] = (__u8)(i >> 8);
		a->ip[3] = (__u8)i;
	} else {
		memcpy(a->ip, "\x20\x01\x0d\xb8", 4);
		a->ip[13] = (__u8)(i >> 16);
		a->ip[14] = (__u8)(i >> 8);
		a->ip[15] = (__u8)i;
	}
}

static unsigned int nr_paths(const struct mps_conn *c)
{
	return c->nr_paths < MPS_MAX_PATHS ? c->nr_paths : MPS_MAX_PATHS;
}

bool recording_add(struct recording *r, const struct mps_trace_head *head,
		   const struct mps_trace_rec *rec)
{
	const size_t paths = rec ? nr_paths(&rec->conn) * sizeof(struct mps_path) : 0;
	const struct recording_chunk chunk = {
		.kind = RECORDING_DECISION,
		.size = (__u32)(sizeof(*head) +
				(rec ? CONN_HEAD + paths + sizeof(struct mps_priv) : 0)),
	};
	struct mps_trace_head h = *head;

	if (r->anonymise && h.netns) {
		hide(r, &h.local);
		hide(r, &h.remote);
	}
	fwrite(&chunk, sizeof(chunk), 1, r->file);
	fwrite(&h, sizeof(h), 1, r->file);
	if (rec) {
		fwrite(&rec->conn, CONN_HEAD + paths, 1, r->file);
		fwrite(&rec->priv, sizeof(rec->priv), 1, r->file);
	}
	return !ferror(r->file);
}

enum exit_code recording_finish(struct recording *r, const struct recording_end *end)
{
	bool failed;

	if (!r->file)
		return EX_OK;
	put(r, RECORDING_END, end, sizeof(*end));
	errno = 0;
	failed = ferror(r->file);
	failed |= fclose(r->file) != 0;
	r->file = NULL;
	free(r->known);
	if (failed)
		return fail_on(EX_FAILED, r->path, "what it has of them can be read",
			       "not all decisions could be written: %s",
			       errno ? strerror(errno) : "the device is full, or failed");
	return EX_OK;
}

/* --- reading */

static enum exit_code bad(const struct recording_file *f, const char *why)
{
	return fail_on(EX_FAILED, f->path, "`" PROGRAM " trace --record FILE` makes one", "%s",
		       why);
}

static enum exit_code check_header(struct recording_file *f)
{
	const struct recording_header *h = (const struct recording_header *)f->text;
	char why[200];

	if (f->len < sizeof(*h) || memcmp(h->magic, RECORDING_MAGIC, sizeof(h->magic)))
		return bad(f, "this is not a recording of decisions");
	if (h->version != RECORDING_VERSION || h->head_size != sizeof(struct mps_trace_head) ||
	    h->conn_size != sizeof(struct mps_conn) || h->priv_size != sizeof(struct mps_priv)) {
		snprintf(
			why, sizeof(why),
			"it was made by version %.*s, with another layout (%u, here %u): replay it there",
			(int)strnlen(h->program, sizeof(h->program)), h->program, h->version,
			RECORDING_VERSION);
		return bad(f, why);
	}
	f->header = h;
	f->offset = sizeof(*h);
	return EX_OK;
}

enum exit_code recording_open(struct recording_file *f, const char *path)
{
	enum exit_code ret;

	memset(f, 0, sizeof(*f));
	f->path = path;
	ret = input_file(path, NULL, RECORDING_MAX, &f->text, &f->len);
	return ret == EX_OK ? check_header(f) : ret;
}

/* What of it a decision function may count on, where the kernel made it. */
static bool is_sound(const struct mps_conn *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_paths; i++)
		if (!c->path[i].mss || !c->path[i].cwnd)
			return false;
	return true;
}

static bool take_decision(struct recording_item *item, const char *data, size_t size)
{
	struct mps_trace_rec *rec = &item->rec;
	size_t paths;

	memset(rec, 0, sizeof(*rec));
	if (size < sizeof(rec->head))
		return false;
	memcpy(&rec->head, data, sizeof(rec->head));
	data += sizeof(rec->head);
	size -= sizeof(rec->head);
	item->whole = size;
	if (!size)
		return true;
	if (size < CONN_HEAD + sizeof(rec->priv))
		return false;
	paths = size - CONN_HEAD - sizeof(rec->priv);
	memcpy(&rec->conn, data, CONN_HEAD);
	if (rec->conn.nr_paths > MPS_MAX_PATHS ||
	    paths != rec->conn.nr_paths * sizeof(struct mps_path))
		return false;
	memcpy(rec->conn.path, data + CONN_HEAD, paths);
	memcpy(&rec->priv, data + CONN_HEAD + paths, sizeof(rec->priv));
	return is_sound(&rec->conn);
}

static bool ends(const char *text, size_t size)
{
	return memchr(text, '\0', size);
}

static bool take(struct recording_item *item, const struct recording_chunk *chunk)
{
	const char *data = (const char *)(chunk + 1);
	const struct recording_function *func = (const struct recording_function *)data;

	item->kind = chunk->kind;
	switch (chunk->kind) {
	case RECORDING_FUNCTION:
		item->function = func;
		return chunk->size == sizeof(*func) && func->what <= OBSERVED_GLANCE &&
		       ends(func->sched, sizeof(func->sched)) &&
		       ends(func->policy, sizeof(func->policy)) &&
		       ends(func->tunables, sizeof(func->tunables));
	case RECORDING_DECISION:
		return take_decision(item, data, chunk->size);
	case RECORDING_END:
		item->end = (const struct recording_end *)data;
		return chunk->size == sizeof(*item->end);
	default:
		return false;
	}
}

enum exit_code recording_next(struct recording_file *f, struct recording_item *item, bool *more)
{
	const struct recording_chunk *chunk = (const struct recording_chunk *)(f->text + f->offset);
	const size_t left = f->len - f->offset;

	*more = false;
	/* what the recorder had not written when it was killed is not there */
	if (f->complete || left < sizeof(*chunk) || chunk->size > left - sizeof(*chunk))
		return EX_OK;
	if (chunk->size % 8 || !take(item, chunk))
		return bad(f,
			   "it is damaged: a part of it is of no kind that is known, or not whole");
	f->offset += sizeof(*chunk) + chunk->size;
	f->complete = item->kind == RECORDING_END;
	*more = !f->complete;
	return EX_OK;
}

void recording_close(struct recording_file *f)
{
	free(f->text);
}
