// SPDX-License-Identifier: GPL-2.0
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "cli/caps.h"
#include "cli/util.h"
#include "kernel/kern.h"
#include "kernel/pin.h"
#include "kernel/registry.h"
#include "sched/aux_progs.h"

#define TAG_ONLY_WITH "mps:only-with:"
#define TAG_COPIES_WITH "mps:copies-with:"

static bool is_aux_prog(const struct bpf_program *prog)
{
	return bpf_program__type(prog) != BPF_PROG_TYPE_STRUCT_OPS && bpf_program__autoload(prog);
}

static bool has_clock(const struct object *o)
{
	return o->clock && bpf_map__autocreate(o->clock);
}

static const char *type_name(const struct btf *btf, __u32 id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	return t ? btf__name_by_offset(btf, t->name_off) : "";
}

/* The rest of a tag that begins so, of what has this name or, with NULL, of anything; or NULL. */
static const char *tag_of(const struct btf *btf, const char *begin, const char *name)
{
	__u32 id;

	for (id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);
		const char *tag = type_name(btf, id);

		if (btf_is_decl_tag(t) && !strncmp(tag, begin, strlen(begin)) &&
		    (!name || !strcmp(type_name(btf, t->type), name)))
			return tag + strlen(begin);
	}
	return NULL;
}

const char *aux_progs_copies_with(const struct btf *btf)
{
	return tag_of(btf, TAG_COPIES_WITH, NULL) ?: tag_of(btf, TAG_ONLY_WITH, NULL);
}

static bool is_off(const struct object *o, const char *tunable)
{
	const struct tunable *t =
		tunable ? tunable_table_find(&o->tunables, tunable, strlen(tunable)) : NULL;

	return t && !object_value(o, t);
}

static bool is_switched_off(const struct object *o, const char *name)
{
	return is_off(o, tag_of(bpf_object__btf(o->bpf), TAG_ONLY_WITH, name));
}

bool aux_progs_choose(struct object *o)
{
	const bool can_ask = !o->asks || kern_want_retrans();
	struct bpf_program *prog;

	o->silent = is_off(o, aux_progs_copies_with(bpf_object__btf(o->bpf)));
	bpf_object__for_each_program(prog, o->bpf)
	{
		if (is_aux_prog(prog) && (!can_ask || is_switched_off(o, bpf_program__name(prog))))
			bpf_program__set_autoload(prog, false);
	}
	if (o->clock)
		bpf_map__set_autocreate(o->clock,
					can_ask && kern_has_retrans() &&
						!is_switched_off(o, bpf_map__name(o->clock)));
	return can_ask;
}

static void path_of(const struct object *o, const char *name, char *path, size_t size)
{
	snprintf(path, size, PIN_DIR "/%s%c%s", o->name, AUX_MARK, name);
}

static enum exit_code check_pin(const struct object *o, const char *name)
{
	char path[512], hint[300];

	path_of(o, name, path, sizeof(path));
	if (!is_there(path))
		return EX_OK;
	snprintf(hint, sizeof(hint), "`" PROGRAM " unload %s` removes what is left of an old one",
		 o->name);
	return fail(EX_FAILED, hint, "%s exists already", path);
}

enum exit_code aux_progs_check_pins(const struct object *o)
{
	unsigned int nr = has_clock(o);
	enum exit_code ret = nr ? check_pin(o, bpf_map__name(o->clock)) : EX_OK;
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, o->bpf)
	{
		if (ret != EX_OK || !is_aux_prog(prog))
			continue;
		if (++nr > MAX_AUX_PROGS)
			return fail(EX_FAILED, NULL, "it has more than %d programs to attach",
				    MAX_AUX_PROGS);
		ret = check_pin(o, bpf_program__name(prog));
	}
	return ret;
}

static enum exit_code explain(const struct bpf_program *prog, int err)
{
	if (err == EOPNOTSUPP)
		return fail(EX_FAILED, "take it out, or write its section as SEC(\"?...\")",
			    "its program %s (section %s) is of a kind that cannot be attached here",
			    bpf_program__name(prog), bpf_program__section_name(prog));
	return fail(code_of(err), "run again with -v for the log",
		    "the kernel refused to attach its program %s: %s%s", bpf_program__name(prog),
		    strerror(err), libbpf_reason());
}

static void detach(struct aux_progs *a)
{
	while (a->nr)
		bpf_link__destroy(a->link[--a->nr]);
}

static bool add(struct aux_progs *a, struct bpf_link *link, const char *name)
{
	if (!link)
		return false;
	a->link[a->nr] = link;
	a->name[a->nr++] = name;
	return true;
}

static enum exit_code attach_programs(struct aux_progs *a, const struct object *o)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, o->bpf)
	{
		if (is_aux_prog(prog) &&
		    !add(a, bpf_program__attach(prog), bpf_program__name(prog)))
			return explain(prog, errno);
	}
	return EX_OK;
}

enum exit_code aux_progs_attach(struct aux_progs *a, const struct object *o)
{
	enum exit_code ret;

	memset(a, 0, sizeof(*a));
	error_watch_libbpf();
	ret = attach_programs(a, o);
	if (ret == EX_OK && has_clock(o) &&
	    !add(a, bpf_map__attach_struct_ops(o->clock), bpf_map__name(o->clock)))
		ret = fail(code_of(errno), "run again with -v for the log",
			   "the kernel refused to register its clock %s: %s%s",
			   bpf_map__name(o->clock), strerror(errno), libbpf_reason());
	if (ret != EX_OK)
		detach(a);
	return ret;
}

static void unpin(const struct aux_progs *a, const struct object *o, unsigned int nr)
{
	char path[512];

	while (nr--) {
		path_of(o, a->name[nr], path, sizeof(path));
		unlink(path);
	}
}

enum exit_code aux_progs_pin(struct aux_progs *a, const struct object *o)
{
	enum exit_code ret;
	char path[512];
	unsigned int i;

	for (i = 0; i < a->nr; i++) {
		path_of(o, a->name[i], path, sizeof(path));
		if (!bpf_obj_pin(bpf_link__fd(a->link[i]), path))
			continue;
		ret = fail(code_of(errno), NULL, "cannot pin its program at %s: %s", path,
			   strerror(errno));
		unpin(a, o, i);
		return ret;
	}
	return EX_OK;
}

void aux_progs_undo(struct aux_progs *a, const struct object *o)
{
	unpin(a, o, a->nr);
	detach(a);
}

void aux_progs_keep(struct aux_progs *a)
{
	/* libbpf would switch some kinds off, whoever else holds them */
	while (a->nr) {
		bpf_link__disconnect(a->link[--a->nr]);
		bpf_link__destroy(a->link[a->nr]);
	}
}

static bool is_pin_of(const char *file, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(file, name, len) && file[len] == AUX_MARK;
}

bool aux_pins_exist(const char *name)
{
	DIR *dir = opendir(PIN_DIR);
	bool found = false;
	struct dirent *e;

	while (dir && !found && (e = readdir(dir)))
		found = is_pin_of(e->d_name, name);
	if (dir)
		closedir(dir);
	return found;
}

/* The link stays attached while this process has it open. */
static int take(struct aux_pins *p, const char *file)
{
	int fd, err;

	if (p->nr == MAX_AUX_PINS)
		return -E2BIG;
	snprintf(p->pin[p->nr].path, sizeof(p->pin[p->nr].path), PIN_DIR "/%s", file);
	fd = bpf_obj_get(p->pin[p->nr].path);
	if (fd < 0)
		return -errno;
	if (unlink(p->pin[p->nr].path)) {
		err = -errno;
		close(fd);
		return err;
	}
	p->pin[p->nr++].fd = fd;
	return 0;
}

enum exit_code aux_pins_take(struct aux_pins *p, const char *name)
{
	DIR *dir = opendir(PIN_DIR);
	enum exit_code ret = EX_OK;
	struct dirent *e;
	int err;

	p->nr = 0;
	while (dir && ret == EX_OK && (e = readdir(dir))) {
		if (!is_pin_of(e->d_name, name))
			continue;
		err = take(p, e->d_name);
		if (err)
			ret = fail(code_of(-err), caps_hint(-err, CAP_NEED_PINS),
				   "cannot remove " PIN_DIR "/%s: %s", e->d_name, strerror(-err));
	}
	if (dir)
		closedir(dir);
	if (ret != EX_OK)
		aux_pins_restore(p);
	return ret;
}

void aux_pins_restore(struct aux_pins *p)
{
	unsigned int i;

	for (i = 0; i < p->nr; i++)
		bpf_obj_pin(p->pin[i].fd, p->pin[i].path);
	while (p->nr)
		close(p->pin[--p->nr].fd);
}

/* As for schedulers: the last reference may be somebody else's. */
static void let_go(int fd)
{
	struct bpf_link_info info = { 0 };
	__u32 len = sizeof(info);

	if (!bpf_link_get_info_by_fd(fd, &info, &len) && info.type == BPF_LINK_TYPE_STRUCT_OPS)
		bpf_link_detach(fd);
	close(fd);
}

void aux_pins_release(struct aux_pins *p)
{
	while (p->nr)
		let_go(p->pin[--p->nr].fd);
}
