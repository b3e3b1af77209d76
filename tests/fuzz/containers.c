// SPDX-License-Identifier: GPL-2.0
/*
 * Answers of container runtimes (loader/kernel/container.c): each runtime that is asked gives the
 * next piece of the input. Claims: a namespace is that of a process which an answer names, of one
 * container alone, never the host's, and no option or pattern is handed to a runtime.
 */
#define netns_resolve its_netns
#define netns_is_hosts it_is_the_hosts
#define find_tool is_installed
#define subprocess_run run_runtime
#include "../../loader/kernel/container.c"
#include "said.h"

static struct draw given;
static uint8_t world;
static long long last_pid;

enum exit_code its_netns(struct netns *ns, const char *text)
{
	char path[64];

	claim(sscanf(text, "/proc/%lld/ns/net", &last_pid) == 1 && last_pid > 0, "of a process");
	snprintf(path, sizeof(path), "/proc/%lld/ns/net", last_pid);
	claim(!strcmp(text, path), "by its number");
	memset(ns, 0, sizeof(*ns));
	ns->ino = world & 1 ? (ino_t)last_pid : 7;
	if (last_pid > 4194304)
		return fail_on(EX_FAILED, text, NULL, "no such process");
	return EX_OK;
}

bool it_is_the_hosts(const struct netns *ns)
{
	return ns->ino == 1;
}

bool is_installed(const char *name, char *buf, size_t size)
{
	snprintf(buf, size, "/bin/%s", name);
	return !(world >> 1 & 1) || *name == 'c';
}

/* The next piece, up to a NUL; before it how the runtime ended. */
int run_runtime(struct subprocess *c, const char *path, char *const argv[], unsigned int timeout_ms,
		size_t limit)
{
	const uint8_t how = draw_byte(&given);
	size_t len;

	for (len = 1; argv[len]; len++)
		claim(*argv[len] != '-' || !strcmp(argv[len], "-o") || !strcmp(argv[len], "--name"),
		      "no option of somebody else's");
	memset(c, 0, sizeof(*c));
	if (how == 255)
		return -ETIME;
	len = strnlen((const char *)given.at, (size_t)(given.end - given.at));
	c->status = how & 1;
	c->out = strndup((const char *)given.at, len);
	if (c->status)
		snprintf(c->said, sizeof(c->said), "%s", c->out);
	given.at += given.at + len < given.end ? len + 1 : len;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct netns ns = { 0 };
	enum exit_code ret;
	char name[260];
	size_t len;

	given = (struct draw){ data, data + size };
	world = draw_byte(&given);
	len = strnlen((const char *)given.at, (size_t)(given.end - given.at));
	snprintf(name, sizeof(name), "%.*s", (int)len, (const char *)given.at);
	given.at += given.at + len < given.end ? len + 1 : len;
	said_begin(world & 4);
	ret = container_resolve(&ns, name);
	said_end(ret);
	if (ret != EX_OK)
		return 0;
	claim(ns.ino && ns.ino != 1 && ns.pid > 0, "a namespace of a container's process");
	claim(ns.ino == 7 || (long long)ns.ino == ns.pid, "of that very one");
	claim(!strncmp(ns.name, "(container ", 11), "by its name for people");
	return 0;
}
