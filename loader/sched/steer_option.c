// SPDX-License-Identifier: GPL-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <linux/magic.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "bpf/option.skel.h"
#include "cli/caps.h"
#include "cli/signals.h"
#include "kernel/pin.h"
#include "sched/pindir.h"
#include "sched/steer_objects.h"
#include "sched/steer_option.h"
#include "state/steer_option.h"

#define CGROUPS "/sys/fs/cgroup"
#define PIN_SET "option-set-"
#define PIN_GET "option-get-"
#define HINT_CGROUP "give the path of one, such as " CGROUPS "/system.slice"
#define HINT_VERSION "unload " STEER_SCHEDULER ", and load that of this command"

static void pin_of(const char *which, __u64 id, char *buf, size_t size)
{
	snprintf(buf, size, PIN_DIR "/" STEER_SCHEDULER "%c%s%llu", AUX_MARK, which,
		 (unsigned long long)id);
}

/* Below /sys/fs/cgroup, as rules have it, or with that in front. */
static enum exit_code open_cgroup(const char *text, int *fd, __u64 *id)
{
	const bool whole = !strncmp(text, CGROUPS, strlen(CGROUPS));
	struct statfs fs;
	struct stat st;
	char path[4096];

	snprintf(path, sizeof(path), "%s%s%s", whole ? "" : CGROUPS,
		 whole || *text == '/' ? "" : "/", text);
	*fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd < 0)
		return fail(code_of(errno), HINT_CGROUP, "no such cgroup: %s", strerror(errno));
	if (fstatfs(*fd, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC || fstat(*fd, &st))
		return fail(EX_FAILED, HINT_CGROUP, "not a cgroup of version 2");
	*id = st.st_ino;
	return EX_OK;
}

/* The maps are the scheduler's own, so that it sees what is kept there. */
static enum exit_code load(struct option *skel)
{
	const int wish = steer_map(MPS_STEER_WISH_MAP, BPF_MAP_TYPE_SK_STORAGE,
				   sizeof(struct mps_steer_wish));
	const int conn =
		steer_map(MPS_CONN_MAP, BPF_MAP_TYPE_SK_STORAGE, sizeof(struct mps_conn_store));
	enum exit_code ret = EX_OK;

	if (wish < 0 || conn < 0)
		ret = fail(EX_FAILED, HINT_VERSION,
			   STEER_SCHEDULER
			   " is of another version: it has no map " MPS_STEER_WISH_MAP);
	else if (bpf_map__reuse_fd(skel->maps.mps_wish_v1, wish) ||
		 bpf_map__reuse_fd(skel->maps.MPS_CONN_STORAGE, conn) || option__load(skel))
		ret = fail(code_of(errno), "run again with -v for the log",
			   "the kernel refused the programs of the option (%s)%s", strerror(errno),
			   libbpf_reason());
	if (wish >= 0)
		close(wish);
	if (conn >= 0)
		close(conn);
	return ret;
}

static enum exit_code attach_one(struct bpf_program *prog, int cgroup, const char *pin)
{
	struct bpf_link *link = bpf_program__attach_cgroup(prog, cgroup);
	enum exit_code ret = EX_OK;

	if (!link)
		return fail(code_of(errno), caps_hint(errno, CAP_NEED_OPTION),
			    "the kernel refused to attach %s: %s", bpf_program__name(prog),
			    strerror(errno));
	if (bpf_obj_pin(bpf_link__fd(link), pin))
		ret = fail(code_of(errno), caps_hint(errno, CAP_NEED_PINS),
			   "cannot pin it at %s: %s", pin, strerror(errno));
	/* the pin keeps it */
	bpf_link__disconnect(link);
	bpf_link__destroy(link);
	return ret;
}

/* Both or neither. */
static enum exit_code attach(struct option *skel, int cgroup, __u64 id)
{
	char set[200], get[200];
	enum exit_code ret;
	sigset_t before;

	pin_of(PIN_SET, id, set, sizeof(set));
	pin_of(PIN_GET, id, get, sizeof(get));
	signals_hold(&before);
	ret = attach_one(skel->progs.steer_get, cgroup, get);
	if (ret == EX_OK)
		ret = attach_one(skel->progs.steer_set, cgroup, set);
	if (ret != EX_OK) {
		unlink(get);
		unlink(set);
	}
	signals_let(&before);
	return ret;
}

static bool has(__u64 id)
{
	__u64 all[STEER_OPTIONS_MAX];
	unsigned int nr = steer_options(all);

	while (nr--)
		if (all[nr] == id)
			return true;
	return false;
}

/* A service that is started anew has another cgroup: of the old one only pins are left. */
static unsigned int drop_gone(void)
{
	__u64 all[STEER_OPTIONS_MAX];
	unsigned int nr = steer_options(all), left = nr;
	char pin[200];

	while (nr--) {
		if (cgroup_is_there(all[nr]))
			continue;
		pin_of(PIN_SET, all[nr], pin, sizeof(pin));
		unlink(pin);
		pin_of(PIN_GET, all[nr], pin, sizeof(pin));
		unlink(pin);
		left--;
	}
	return left;
}

static enum exit_code check_room(void)
{
	if (drop_gone() < STEER_OPTIONS_MAX)
		return EX_OK;
	return fail(EX_FAILED, "one cgroup above several will do", "there are %d cgroups already",
		    STEER_OPTIONS_MAX);
}

static enum exit_code load_and_attach(int cgroup, __u64 id)
{
	struct option *skel;
	enum exit_code ret;

	error_watch_libbpf();
	skel = option__open();
	if (!skel)
		return fail(code_of(errno), NULL, "%s", strerror(errno));
	ret = load(skel);
	if (ret == EX_OK)
		ret = attach(skel, cgroup, id);
	option__destroy(skel);
	return ret;
}

enum exit_code steer_option_on(const char *cgroup, bool *had)
{
	ERROR_ABOUT(NULL, cgroup);
	int fd = -1;
	__u64 id = 0;
	enum exit_code ret = pindir_require();

	if (ret == EX_OK)
		ret = open_cgroup(cgroup, &fd, &id);
	*had = ret == EX_OK && has(id);
	if (ret == EX_OK && !*had)
		ret = check_room();
	if (ret == EX_OK && !*had)
		ret = load_and_attach(fd, id);
	if (fd >= 0)
		close(fd);
	return ret;
}

/* The last reference to each goes with its pin. */
enum exit_code steer_option_off(const char *cgroup, bool *had)
{
	ERROR_ABOUT(NULL, cgroup);
	char set[200], get[200];
	enum exit_code ret;
	__u64 id = 0;
	int fd = -1;

	ret = open_cgroup(cgroup, &fd, &id);
	if (fd >= 0)
		close(fd);
	if (ret != EX_OK)
		return ret;
	*had = has(id);
	pin_of(PIN_SET, id, set, sizeof(set));
	pin_of(PIN_GET, id, get, sizeof(get));
	if ((unlink(set) && errno != ENOENT) || (unlink(get) && errno != ENOENT))
		return fail(code_of(errno), caps_hint(errno, CAP_NEED_PINS),
			    "cannot remove its pins: %s", strerror(errno));
	return EX_OK;
}

unsigned int steer_options(__u64 *id)
{
	static const char begin[] = STEER_SCHEDULER "@" PIN_SET;
	DIR *dir = opendir(PIN_DIR);
	unsigned int nr = 0;
	struct dirent *e;

	while (dir && nr < STEER_OPTIONS_MAX && (e = readdir(dir)))
		if (!strncmp(e->d_name, begin, strlen(begin)))
			id[nr++] = strtoull(e->d_name + strlen(begin), NULL, 10);
	if (dir)
		closedir(dir);
	return nr;
}
