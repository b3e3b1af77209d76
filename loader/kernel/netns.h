/* SPDX-License-Identifier: GPL-2.0 */
/* Network namespaces: which there are and which scheduler each selects. */
#ifndef MPS_NETNS_H
#define MPS_NETNS_H

#include <stdbool.h>
#include <linux/types.h>
#include <sys/types.h>
#include "cli/error.h"
#include "model/types.h"

#define NETNS_DIR "/run/netns"

struct netns {
	ino_t ino;
	char path[280]; /* by which it can be entered */
	char name[256]; /* of /run/netns, or "" */
	pid_t pid;	/* some process in it, 0: none known */
	bool self;
	char sched[MPS_NAME_LEN]; /* "" where it could not be read */
};

struct netns_list {
	struct netns *ns;
	unsigned int nr;
	unsigned int *slot, nr_slots; /* by inode */
};

/* All of them, with their schedulers; needs CAP_SYS_ADMIN to be complete. */
void netns_read(struct netns_list *l);
/* The same without their schedulers, which nobody has to enter them for. */
void netns_names(struct netns_list *l);
void netns_free(struct netns_list *l);
struct netns *netns_find(const struct netns_list *l, ino_t ino);

/* Name if it has one, else "pid PID", else its inode. */
const char *netns_label(const struct netns *ns, char *buf, size_t size);

#define HINT_NETNS "give a name of `ip netns list`, a path or a process id"

/* NAME|PATH|PID, NULL: the one we are in. */
enum exit_code netns_resolve(struct netns *ns, const char *text);
/* The same without telling: 0 or a negative errno, -EINVAL where it is none of the net. */
int netns_look(struct netns *ns, const char *text);
/* Can it be one at all? The two above take nothing else. */
bool netns_is_text(const char *text);

/* That of the machine's first process, or the one we are in where that is out of sight. */
bool netns_is_hosts(const struct netns *ns);

/* Ended, since it was found or resolved. */
bool netns_is_gone(const struct netns *ns);

/* net.mptcp.scheduler of that namespace; 0 or a negative errno. */
int netns_get_sched(const struct netns *ns, char *name);
int netns_set_sched(const struct netns *ns, const char *name);

/* Enters it, opens something, comes back: what open_it() returned, or a negative errno. */
int netns_open(const struct netns *ns, int (*open_it)(int flags), int flags);

/* Unlike an inode's number, never given to another one. 0 or a negative errno. */
int netns_cookie(const struct netns *ns, __u64 *cookie);

#endif /* MPS_NETNS_H */
