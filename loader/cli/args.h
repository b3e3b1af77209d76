/* SPDX-License-Identifier: GPL-2.0 */
/* Commands and options as tables; parsing and the help text follow from them. */
#ifndef MPS_ARGS_H
#define MPS_ARGS_H

#include <stdbool.h>
#include "cli/error.h"

enum opt_id {
	OPT_JSON,
	OPT_VERBOSE,
	OPT_HELP,
	OPT_VERSION,
	OPT_SET,
	OPT_NETNS,
	OPT_CONTAINER,
	OPT_ALL_NETNS,
	OPT_ALL,
	OPT_FORCE,
	OPT_WATCH,
	OPT_REINJECT,
	OPT_TIMEOUT,
	OPT_CONFIG,
	OPT_DRY_RUN,
	OPT_LISTEN,
	OPT_INTERVAL,
	OPT_NAMESPACES,
	OPT_PATHS,
	OPT_PER_CONNECTION,
	OPT_CONNECTION,
	OPT_PORT,
	OPT_LIMIT,
	OPT_SAMPLE,
	OPT_EACH_PATH,
	OPT_RECORD,
	OPT_ANONYMISE,
	OPT_SCHEDULER,
	OPT_DIFFERENCES,
	OPT_COMMAND,
	OPT_CGROUP,
	OPT_TOP,
	OPT_UI,
	OPT_SOCKET_GROUP,
	OPT_HOST,
	OPT_NO_GLANCES,
	NR_OPTS
};

/* A bit for each. */
typedef unsigned long long opt_set_t;
_Static_assert(NR_OPTS <= 8 * sizeof(opt_set_t), "options have bits");

#define OPT_BIT_OF(id) (1ULL << (id))
#define OPT_BIT(id) OPT_BIT_OF(OPT_##id)
/* These every command takes, before or behind its name. */
#define OPTS_GLOBAL (OPT_BIT(JSON) | OPT_BIT(VERBOSE) | OPT_BIT(HELP) | OPT_BIT(VERSION))

struct opt {
	const char *name;
	char letter; /* 0: none */
	const char *value, *text;
};

extern const struct opt opts[NR_OPTS];

#define MAX_SETS 64
#define MAX_WORDS 32
#define MAX_SCHEDULERS 8
#define MAX_HOSTS 16

/* MPS_TRACE_TOP: what `trace` has room for in the kernel */
#define MAX_TOP 1024

#define DEFAULT_LISTEN "127.0.0.1:9851"
#define DEFAULT_NAMESPACES 100
#define DEFAULT_PATHS 16

struct args {
	bool json, help, version, all, all_netns, force, reinject, dry_run;
	int verbose;
	const char *netns, *container, *config;
	double watch;	/* seconds between two readings; 0: read once */
	double timeout; /* seconds to wait for another command that changes something */
	const char *listen, *socket_group;
	const char *host[MAX_HOSTS]; /* names by which it may be asked */
	unsigned int nr_hosts;
	double interval;		/* seconds; 0: the command's own */
	unsigned int namespaces, paths; /* how many get a label */
	bool per_connection, ui;
	unsigned int token, port;		 /* 0: any */
	unsigned int limit, sample, differences; /* 0: none */
	unsigned int top;			 /* connections, the busiest; 0: all */
	bool each_path, anonymise, no_glances;
	const char *record;
	const char *command, *cgroup;
	const char *scheduler[MAX_SCHEDULERS];
	unsigned int nr_schedulers;
	char **argv; /* of the whole command */
	const char *set[MAX_SETS];
	unsigned int nr_set;
	const char *word[MAX_WORDS];
	unsigned int nr_words;
	opt_set_t given; /* of options with a value, those that were there */
};

struct command {
	const char *name, *synopsis, *text;
	const char *details; /* further lines of `help COMMAND`, or NULL */
	opt_set_t opts;	     /* besides the global ones */
	unsigned int min_words, max_words;
	unsigned int caps; /* CAP_BIT()s of caps.h, perhaps CAPS_APART */
	enum exit_code (*run)(const struct args *args);
};

extern const struct command commands[];
const struct command *command_find(const char *name);

/* Options before the command's name; *first is the index of the name in argv. */
enum exit_code args_global(struct args *args, int argc, char **argv, int *first);
/* argv[0] is the command's name. */
enum exit_code args_command(struct args *args, const struct command *cmd, int argc, char **argv);

void print_help(void);
void print_command_help(const struct command *cmd);

#endif /* MPS_ARGS_H */
