// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "bpf/trace.skel.h"
#include "cli/util.h"
#include "kernel/registry.h"
#include "trace/observer.h"

/* More than a program of ours has. */
#define FUNCTIONS_MAX 256

/* A program of a scheduler, and its functions. */
struct target {
	int fd;
	bool jited;
	struct btf *btf;
	struct bpf_func_info func[FUNCTIONS_MAX];
	unsigned int nr;
};

const char *observers_hint(int err)
{
	/* this process has them, or it would not have come as far as that */
	return err == EPERM ? "it takes CAP_BPF and CAP_PERFMON that count for the whole machine: "
			      "run it as root, and not in a container"
			    : NULL;
}

enum exit_code observers_open(struct observers *o, const struct observer_filter *f)
{
	memset(o, 0, sizeof(*o));
	o->leave_out = f->leave_out;
	error_watch_libbpf();
	o->skel = trace__open();
	if (o->skel) {
		o->skel->rodata->only_token = f->token;
		o->skel->rodata->only_netns = f->netns;
		o->skel->rodata->only_port = f->port;
		o->skel->rodata->only_top = f->top;
		o->skel->rodata->one_in = f->one_in;
	}
	/* its programs are loaded once per function that they look at */
	if (o->skel && !bpf_object__prepare(o->skel->obj))
		return EX_OK;
	return fail(code_of(errno), observers_hint(errno) ?: "run again with -v",
		    "the kernel refused the maps that decisions are told by (%s)%s",
		    strerror(errno), libbpf_reason());
}

static void close_target(struct target *t)
{
	btf__free(t->btf);
	if (t->fd >= 0)
		close(t->fd);
}

/* 0 or a negative errno. */
static int open_target(struct target *t, __u32 prog_id)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);

	memset(t, 0, sizeof(*t));
	t->fd = bpf_prog_get_fd_by_id(prog_id);
	if (t->fd < 0)
		return -errno;
	info.nr_func_info = FUNCTIONS_MAX;
	info.func_info_rec_size = sizeof(t->func[0]);
	info.func_info = (__u64)(unsigned long)t->func;
	if (bpf_prog_get_info_by_fd(t->fd, &info, &len))
		return -errno;
	t->nr = info.nr_func_info < FUNCTIONS_MAX ? info.nr_func_info : FUNCTIONS_MAX;
	t->jited = info.jited_prog_len;
	t->btf = info.btf_id ? btf__load_from_kernel_by_id(info.btf_id) : NULL;
	return 0;
}

/* Is it a pointer to this struct that the function takes first, of so many? */
static bool takes(const struct btf *btf, __u32 func, const char *name, unsigned int args)
{
	const struct btf_type *t = btf__type_by_id(btf, func);

	t = t && btf_is_func(t) ? btf__type_by_id(btf, t->type) : NULL;
	if (!t || !btf_is_func_proto(t) || btf_vlen(t) != args)
		return false;
	t = btf__type_by_id(btf, btf_params(t)->type);
	while (t && (btf_is_ptr(t) || btf_is_mod(t)))
		t = btf__type_by_id(btf, t->type);
	return t && btf_is_struct(t) && !strcmp(btf__name_by_offset(btf, t->name_off), name);
}

/* What of a policy the function is; NR_OBSERVED: none of what is looked at. */
static enum observed which(const struct btf *btf, __u32 func, char *policy)
{
	static const struct {
		const char *end, *about;
		unsigned int args;
	} known[] = {
#define OBSERVED_ENTRY(id, name, about, args) { name, about, args },
		OBSERVED(OBSERVED_ENTRY)
#undef OBSERVED_ENTRY
	};
	const char *name = btf_type_name(btf, func);
	const size_t len = strlen(name);
	enum observed i;

	for (i = 0; i < NR_OBSERVED; i++) {
		const size_t end = strlen(known[i].end);

		if (len < end || strcmp(name + len - end, known[i].end) ||
		    !takes(btf, func, known[i].about, known[i].args) ||
		    (i >= OBSERVED_GLANCE && len != end))
			continue;
		snprintf(policy, POLICY_LEN, "%.*s", (int)(len - end), name);
		break;
	}
	return i;
}

/* The last line of the verifier's log that says something. */
static const char *reason_of(char *log)
{
	char *line, *rest = log, *said = "";

	while ((line = strsep(&rest, "\n")))
		if (*line && strncmp(line, "processed ", 10))
			said = line;
	return said;
}

/* One of the skeleton's programs, at this function. 0 or a negative errno. */
static int attach(struct observers *o, unsigned int at, int i, const struct bpf_program *prog,
		  const struct target *t, __u32 func)
{
	static char log[1 << 16];
	const enum bpf_attach_type type = bpf_program__expected_attach_type(prog);
	LIBBPF_OPTS(bpf_prog_load_opts, load, .expected_attach_type = type, .attach_prog_fd = t->fd,
		    .attach_btf_id = func, .log_buf = log, .log_size = sizeof(log));
	LIBBPF_OPTS(bpf_link_create_opts, link, .tracing.cookie = at);
	struct observer *ob = &o->at[at];
	struct observed_sched *s = &o->sched[ob->sched];
	const char *said;

	*log = '\0';
	ob->prog[i] = bpf_prog_load(BPF_PROG_TYPE_TRACING, bpf_program__name(prog), "GPL",
				    bpf_program__insns(prog), bpf_program__insn_cnt(prog), &load);
	if (ob->prog[i] >= 0)
		ob->link[i] = bpf_link_create(ob->prog[i], 0, type, &link);
	if (ob->link[i] >= 0)
		return 0;
	s->err = errno;
	said = reason_of(log);
	snprintf(s->why, sizeof(s->why), "the kernel refused a program at its %s(): %s%s%s%s",
		 btf_type_name(t->btf, func), strerror(s->err), *said ? " (" : "", said,
		 *said ? ")" : "");
	return -s->err;
}

static int observe(struct observers *o, const struct target *t, __u32 func, __u32 sched,
		   enum observed what, const char *policy)
{
	const struct observer fresh = {
		.sched = sched, .what = what, .prog = { -1, -1 }, .link = { -1, -1 }
	};
	const unsigned int at = o->nr;
	int err = 0;

	o->at = grow(o->at, o->nr, sizeof(*o->at));
	o->at[o->nr] = fresh;
	snprintf(o->at[o->nr].policy, POLICY_LEN, "%s", policy);
	o->nr++;
	if (what == OBSERVED_GLANCE)
		return attach(o, at, 1, o->skel->progs.mps_trace_look, t, func);
	if (what == OBSERVED_PENALTY)
		return attach(o, at, 1, o->skel->progs.mps_trace_penalty, t, func);
	/* before it first, or the decisions till then would be told without the state */
	err = attach(o, at, 0, o->skel->progs.mps_trace_begin, t, func);
	return err ?: attach(o, at, 1, o->skel->progs.mps_trace_end, t, func);
}

static int observe_program(struct observers *o, __u32 prog_id, __u32 sched)
{
	char policy[POLICY_LEN];
	struct target t;
	unsigned int i;
	int err = open_target(&t, prog_id);

	for (i = 0; !err && t.btf && i < t.nr; i++) {
		const enum observed what = which(t.btf, t.func[i].type_id, policy);

		if (what == NR_OBSERVED || o->leave_out & 1U << what)
			continue;
		if (!t.jited) {
			snprintf(o->sched[sched].why, sizeof(o->sched[sched].why),
				 "its programs are interpreted: set net.core.bpf_jit_enable to 1");
			o->sched[sched].err = EOPNOTSUPP;
			err = -EOPNOTSUPP;
			break;
		}
		err = observe(o, &t, t.func[i].type_id, sched, what, policy);
		o->sched[sched].policies += what == OBSERVED_DECIDE && !err;
	}
	close_target(&t);
	return err;
}

static void let_go(struct observers *o, struct observer *ob)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);
	unsigned int i;

	if (ob->what != OBSERVED_PENALTY && ob->prog[1] >= 0 &&
	    !bpf_prog_get_info_by_fd(ob->prog[1], &info, &len))
		o->missed += info.recursion_misses;
	/* behind it first: see observe() */
	for (i = 2; i--;) {
		if (ob->link[i] >= 0)
			close(ob->link[i]);
		if (ob->prog[i] >= 0)
			close(ob->prog[i]);
		ob->link[i] = ob->prog[i] = -1;
	}
}

static void let_go_of(struct observers *o, __u32 sched)
{
	unsigned int i;

	for (i = 0; i < o->nr; i++)
		if (o->at[i].sched == sched)
			let_go(o, &o->at[i]);
	o->sched[sched].policies = 0;
}

static void meet(struct observers *o, const struct sched *s, observer_tell_t tell)
{
	const __u32 at = o->nr_scheds;
	struct observed_sched *new;
	unsigned int i;
	int err = 0;
	bool gone;

	o->sched = grow(o->sched, at, sizeof(*o->sched));
	new = &o->sched[o->nr_scheds++];
	*new = (struct observed_sched){ .map_id = s->map_id, .here = true };
	memcpy(new->name, s->name, sizeof(s->name));
	snprintf(new->why, sizeof(new->why),
		 "it does not decide by functions of this version's frame (docs/use/trace.md)");
	/* without this map its snapshots are of another layout */
	for (i = 0; s->conn_map && i < s->nr_progs && !err; i++)
		err = observe_program(o, s->prog_id[i], at);
	gone = err == -ENOENT && !new->err; /* since the registry was read */
	if (err && !new->err) {
		new->err = -err;
		snprintf(new->why, sizeof(new->why), "its programs cannot be read: %s",
			 strerror(new->err));
	}
	if (err || !new->policies)
		let_go_of(o, at);
	if (!gone && tell)
		tell(new->policies ? OBSERVER_ATTACHED : OBSERVER_REFUSED, new);
}

static struct observed_sched *known(struct observers *o, __u32 map_id)
{
	unsigned int i;

	for (i = 0; i < o->nr_scheds; i++)
		if (o->sched[i].map_id == map_id)
			return &o->sched[i];
	return NULL;
}

void observers_look(struct observers *o, observer_tell_t tell)
{
	struct observed_sched *s;
	struct registry reg;
	unsigned int i;
	bool everything;

	for (i = 0; i < o->nr_scheds; i++)
		o->sched[i].here = false;
	registry_read(&reg);
	for (i = 0; i < reg.nr; i++) {
		if (!reg.sched[i].map_id || !reg.sched[i].nr_progs)
			continue;
		s = known(o, reg.sched[i].map_id);
		if (s)
			s->here = true;
		else
			meet(o, &reg.sched[i], tell);
	}
	everything = reg.complete;
	registry_free(&reg);
	/* our programs would keep its own, and those the bridge */
	for (i = 0; i < o->nr_scheds; i++) {
		s = &o->sched[i];
		if (s->here || s->told_gone || !everything)
			continue;
		if (s->policies && tell)
			tell(OBSERVER_GONE, s);
		let_go_of(o, i);
		s->told_gone = true;
	}
}

bool observers_any(const struct observers *o)
{
	unsigned int i;

	for (i = 0; i < o->nr_scheds; i++)
		if (o->sched[i].policies)
			return true;
	return false;
}

void observers_want(const struct observers *o, __u32 token, bool wanted)
{
	const int map = bpf_map__fd(o->skel->maps.top);
	const __u8 here = 1;

	if (wanted)
		bpf_map_update_elem(map, &token, &here, BPF_ANY);
	else
		bpf_map_delete_elem(map, &token);
}

int observers_ring(const struct observers *o)
{
	return bpf_map__fd(o->skel->maps.ring);
}

void observers_count(const struct observers *o, __u64 *seen, __u64 *lost)
{
	struct mps_trace_counts c = { 0 };
	__u32 zero = 0;

	bpf_map_lookup_elem(bpf_map__fd(o->skel->maps.counts), &zero, &c);
	*seen = c.seen + o->missed;
	*lost = c.dropped + o->missed;
}

void observers_detach(struct observers *o)
{
	unsigned int i;

	for (i = 0; i < o->nr; i++)
		let_go(o, &o->at[i]);
}

void observers_close(struct observers *o)
{
	observers_detach(o);
	free(o->at);
	free(o->sched);
	trace__destroy(o->skel);
	memset(o, 0, sizeof(*o));
}
