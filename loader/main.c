// SPDX-License-Identifier: GPL-2.0
/*
 * mptcp-sched: loads, selects and watches MPTCP packet schedulers in BPF. This
 * file holds the table of commands; each of them is in a file of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli/caps.h"
#include "cli/config.h"
#include "cli/output.h"
#include "cmd/commands.h"
#include "cmd/monitor.h"
#include "cmd/trace.h"
#include "kernel/lock.h"
#include "sched/builtin.h"
#include "sched/steer_fields.h"
#include "sched/steer_verbs.h"
#include "state/stats.h"
#include "trace/print.h"

static enum exit_code cmd_help(const struct args *args);

/* The counters' descriptions come from the tables that define them. */
#define DESCRIBE(id, name, text) "\n  " #name ": " text
static const char stats_details[] =
	"For every connection that a scheduler of this project serves, of all network\n"
	"namespaces (--all) or of one, the busiest first.\n"
	"With --watch also what happened since the reading before: bytes per second, each\n"
	"subflow's share of them, counters and waits per second. A terminal is redrawn in place.\n"
	"Its last line names what has no room: the arrow keys, Page Up, Page Down, Home and End\n"
	"lead there, and q ends it. Other outputs get one block after the other.\n"
	"With --top only the busiest, by what they sent since the reading before.\n"
	"With --json one document, with --watch and --json one per line. Their schema is\n"
	"stats.schema.json of the documentation.\n\n"
	"Counters of a connection:" MPS_CONN_COUNTERS(DESCRIBE) "\nWaits, by reason:" MPS_WAIT_REASONS(
		DESCRIBE) "\nCounters of a subflow:" MPS_SUBFLOW_COUNTERS(DESCRIBE);
#undef DESCRIBE

#define DESCRIBE(id, name, by, text) "\n  " name " (" by "): " text
static const char monitor_details[] =
	"One line per event, with --json an object per line, until it is interrupted. Connections\n"
	"and paths are those of one network namespace, this one or that of --netns: run one\n"
	"`monitor` for each. It ends with a namespace that no name and no process has any more.\n\n"
	"\"event\": the kernel tells it at once, which takes CAP_NET_ADMIN. \"look\": found by looking\n"
	"every --interval seconds (1), so what began and ended in between is not seen. Stale paths\n"
	"are seen only of connections that a scheduler of this project serves.\n\n"
	"Events:" MONITOR_EVENTS(DESCRIBE);
#undef DESCRIBE

#define DESCRIBE(id, name, text) "\n  " name ": " text
#define VERDICTS TRACE_VERDICTS(DESCRIBE)
#define CHANGES TRACE_CHANGES(DESCRIBE)
#define EVENTS TRACE_EVENTS(DESCRIBE)
static const char trace_details[] =
	"One line per decision of the schedulers that are loaded, with what it was made on, until it\n"
	"is interrupted. Programs are attached to the schedulers only while this command runs. The\n"
	"kernel applies --connection, --netns and --port, from a connection's first decision on.\n"
	"--top has those that sent most in the last second, of what the other filters let through,\n"
	"and looks for them once a second. Decisions that come faster than they can be printed are\n"
	"lost, and counted.\n\n"
	"Bytes of a connection: what no subflow has yet (pending), what the peer's window takes\n"
	"(window), what is not acknowledged (unacked), and the next fragment, of copies the oldest\n"
	"(unit). \"glance\": no path had room, and the policy was not asked.\n\n"
	"What was decided:" VERDICTS "\n\nSince the decision before, a path:" CHANGES
	"\n\nEvents of --json:" EVENTS;
#undef VERDICTS
#undef CHANGES
#undef EVENTS
#undef DESCRIBE

static const char replay_details[] =
	"Takes no rights and no MPTCP: the schedulers' own code decides, compiled for this command.\n"
	"First each scheduler of the recording decides again, with its tunables and its state of then,\n"
	"which has to come out the same. --scheduler shows what another one, or the same with other\n"
	"tunables, would have decided on the same snapshots: which path, or why none, but not how\n"
	"many bytes. The snapshots stay those of what was really done. What only the other scheduler\n"
	"measures, such as a device's queue, is missing.";

#define DESCRIBE_VERB(id, name, words, text) "\n  " name words ": " text
#define DESCRIBE_FIELD(id, name, value, text, json, ...) "\n  " name BEFORE_##json value ": " text
#define BEFORE_TEXT " "
#define BEFORE_NUMBER " "
#define BEFORE_TIME " "
#define BEFORE_PAIR " "
#define BEFORE_FLAG ""
#define DESCRIBE_MODE(id, name, policy, text) "\n  " name ": " text
#define VERBS STEER_VERBS(DESCRIBE_VERB)
#define MATCHES STEER_RULE_MATCHES(DESCRIBE_FIELD)
#define OPTIONS STEER_RULE_OPTIONS(DESCRIBE_FIELD)
#define PATH_FIELDS STEER_PATH_FIELDS(DESCRIBE_FIELD)
#define MODES MPS_STEER_MODES(DESCRIBE_MODE)
static const char steer_details[] =
	"These are tables of bpf_steer, which has to be loaded. The first rule and the first path that\n"
	"match count. Without a rule a connection has mode auto, and without a path a subflow has\n"
	"rank 0 and weight 1. Changes apply to open connections, too, at their next decision. After an\n"
	"error nothing has changed. The tables go when bpf_steer is unloaded.\n\n"
	"What to do:" VERBS "\n\n"
	"Fields by which a rule matches. `test` takes them, too, with one address, port or mark:" MATCHES
	"\n\nOptions of a rule. It always has a mode:" OPTIONS
	"\n\nFields of a path. It always has a name:" PATH_FIELDS
	"\n\nTIME is a number with s, ms or us behind it, BYTES one with K, M, G, T (powers of 1000) or\n"
	"nothing. Modes:" MODES;
#undef VERBS
#undef MATCHES
#undef OPTIONS
#undef PATH_FIELDS
#undef MODES
#undef DESCRIBE_VERB
#undef DESCRIBE_FIELD
#undef BEFORE_TEXT
#undef BEFORE_NUMBER
#undef BEFORE_TIME
#undef BEFORE_PAIR
#undef BEFORE_FLAG
#undef DESCRIBE_MODE

static const char exporter_details[] =
	"GET /metrics of the address gives the counters in Prometheus' text format, or in\n"
	"OpenMetrics where the request asks for that. Without --listen the address is\n"
	"" DEFAULT_LISTEN "; port 0 takes a free port and prints it. To unix:PATH its owner\n"
	"alone may connect, and with --socket-group a group, such as that of a proxy.\n\n"
	"At an address it answers who asks by an IP address, by localhost, by the machine's own\n"
	"name, or by a name of --host. By another name a page of another site might ask through\n"
	"somebody's browser.\n\n"
	"Counters are sums over all connections since the exporter began, closed ones as they\n"
	"were last seen. It reads at a request, at most once a second, and every --interval\n"
	"seconds (5) in between. Labels are network namespace, scheduler and, of a path, local\n"
	"address and the peer's number for its own (path, remote_id). Those beyond\n"
	"--namespaces and --paths are summed up as \"other\"; of connections there are only\n"
	"numbers, unless --per-connection is given.\n\n"
	"With --ui a browser that asks for / gets a page with connections, paths, waits and caps. It\n"
	"can change nothing, and loads nothing from elsewhere. /stats.json is `stats --json` of the\n"
	"--top busiest connections (100), and /accounts.json `steer account show --json`. Whoever\n"
	"reaches the address sees all of it, addresses of peers among it.";

const struct command commands[] = {
	{ "list", "", "schedulers that come with this command or are registered",
	  "With --verbose also their tunables.", 0, 0, 0, CAPS_LIST, cmd_list },
	{ "load", "NAME|FILE.o", "register a scheduler and pin it",
	  "It stays after this command ends, until `unload` or the next boot. Loads the bridge\n"
	  "module where the kernel needs it. Other programs of the object, such as the one that\n"
	  "asks for copies of data, are attached with it; without the bridge there are no copies.",
	  OPT_BIT(SET) | OPT_BIT(TIMEOUT), 1, 1, CAPS_LOAD, cmd_load },
	{ "unload", "NAME|--all", "unregister what was loaded",
	  "Refused while a network namespace selects it. Live connections keep it until they end.",
	  OPT_BIT(ALL) | OPT_BIT(FORCE) | OPT_BIT(TIMEOUT), 1, 1, CAPS_UNLOAD, cmd_unload },
	{ "use", "[NAME]",
	  "select a scheduler in a network namespace; " BUILTIN_AUTO " without a name",
	  "Loads it where it comes with this command and is not loaded. A socket takes the\n"
	  "scheduler when it is made, an accepted one that of its listener: so existing listeners\n"
	  "and connections keep theirs. `use default` goes back to the kernel's own.\n\n"
	  "`use default --reinject` also copies data that a slow subflow holds up to another one\n"
	  "that is idle and faster, without waiting for a loss. It applies to all connections of\n"
	  "the namespace that have the default scheduler, live ones too, until the next `use`\n"
	  "there without --reinject. It takes the bridge module.",
	  OPT_BIT(NETNS) | OPT_BIT(CONTAINER) | OPT_BIT(ALL_NETNS) | OPT_BIT(SET) |
		  OPT_BIT(REINJECT) | OPT_BIT(TIMEOUT),
	  0, 1, CAPS_CHANGE, cmd_use },
	{ "set", "NAME TUNABLE=VALUE...", "change tunables of a scheduler that is loaded",
	  "For decisions from now on, of live connections too. All of them are checked before the\n"
	  "first one changes. What is fixed at load (LIVE: no, in `get`) is refused.",
	  OPT_BIT(TIMEOUT), 2, MAX_WORDS, CAPS_CHANGE, cmd_set },
	{ "get", "NAME [TUNABLE]", "tunables of a scheduler that is loaded, or the value of one",
	  NULL, 0, 1, 2, CAPS_LOOK, cmd_get },
	{ "steer", "[rule|path|account] VERB ...",
	  "rules and paths of bpf_steer: which connection goes where", steer_details,
	  OPT_BIT(TIMEOUT) | OPT_BIT(COMMAND) | OPT_BIT(CGROUP), 1, MAX_WORDS, CAPS_STEER,
	  cmd_steer },
	{ "show", "", "kernel support, schedulers, namespaces, live connections", NULL, 0, 0, 0,
	  CAPS_LOOK, cmd_show },
	{ "stats", "", "counters per connection and subflow", stats_details,
	  OPT_BIT(NETNS) | OPT_BIT(CONTAINER) | OPT_BIT(ALL_NETNS) | OPT_BIT(WATCH) | OPT_BIT(TOP),
	  0, 0, CAPS_STATS, cmd_stats },
	{ "apply", "", "make the system match the configuration file",
	  "Loads the schedulers of [load], with the tunables there and defaults for the others, and\n"
	  "selects them in the namespaces of [root] and [netns]. [paths] and [rules] are the tables\n"
	  "of steer, which they replace. What the file does not mention stays as it is. A tunable\n"
	  "that is fixed at load takes unloading and loading: for that moment new sockets have the\n"
	  "default scheduler. A statement that fails is an error, but the others are done.",
	  OPT_BIT(CONFIG) | OPT_BIT(DRY_RUN) | OPT_BIT(TIMEOUT), 0, 0, CAPS_CHANGE, cmd_apply },
	{ "oci-hook", "", "select what a container's annotation asks for (for runtimes)",
	  "Reads the container's state on stdin, as the OCI runtime specification has it, and\n"
	  "selects the scheduler of the annotation mptcp.sched/name in its network namespace;\n"
	  "mptcp.sched/reinject=true is --reinject. Without these it does nothing. It takes what is\n"
	  "loaded, and loads what `load` in [containers] of " CONFIG_FILE " names. With\n"
	  "`allow` there it refuses all that is not named. Where it fails, the runtime does not\n"
	  "start the container.",
	  OPT_BIT(TIMEOUT), 0, 0, CAPS_CHANGE, cmd_oci_hook },
	{ "monitor", "",
	  "print events of schedulers, connections and paths of one namespace as they happen",
	  monitor_details, OPT_BIT(NETNS) | OPT_BIT(INTERVAL), 0, 0, CAPS_LOOK | CAP_BIT(EVENTS),
	  cmd_monitor },
	{ "trace", "", "show each decision of the schedulers, and what it was made on",
	  trace_details,
	  OPT_BIT(CONNECTION) | OPT_BIT(NETNS) | OPT_BIT(CONTAINER) | OPT_BIT(PORT) | OPT_BIT(TOP) |
		  OPT_BIT(LIMIT) | OPT_BIT(SAMPLE) | OPT_BIT(EACH_PATH) | OPT_BIT(RECORD) |
		  OPT_BIT(ANONYMISE) | OPT_BIT(NO_GLANCES),
	  0, 0, CAPS_STATS, cmd_trace },
	{ "replay", "FILE", "make recorded decisions again, by the same or other schedulers",
	  replay_details, OPT_BIT(SCHEDULER) | OPT_BIT(DIFFERENCES), 1, 1, 0, cmd_replay },
	{ "exporter", "", "serve the counters to Prometheus", exporter_details,
	  OPT_BIT(LISTEN) | OPT_BIT(SOCKET_GROUP) | OPT_BIT(HOST) | OPT_BIT(INTERVAL) |
		  OPT_BIT(NAMESPACES) | OPT_BIT(PATHS) | OPT_BIT(PER_CONNECTION) | OPT_BIT(UI) |
		  OPT_BIT(TOP),
	  0, 0, CAPS_LOOK | CAPS_APART, cmd_exporter },
	{ "doctor", "", "check what this machine needs, and say what to do",
	  "Tries what can be tried: loads the bridge module and takes it out again, has the kernel\n"
	  "check a scheduler's programs, makes a directory where pins go. Exits with 3 unless all\n"
	  "that is required is there.",
	  OPT_BIT(TIMEOUT), 0, 0, 0, cmd_doctor },
	{ "help", "[COMMAND]", "this text, or more on one command",
	  "With --json the tables of commands, options, exit codes and capabilities.", 0, 0, 1, 0,
	  cmd_help },
	{ 0 },
};

const struct command *command_find(const char *name)
{
	const struct command *cmd;

	for (cmd = commands; cmd->name; cmd++)
		if (!strcmp(cmd->name, name))
			return cmd;
	return NULL;
}

static enum exit_code unknown(const char *name)
{
	ERROR_ABOUT("run", name);

	return fail(EX_USAGE, "`" PROGRAM " help` shows what there is", "no such command");
}

static enum exit_code cmd_help(const struct args *args)
{
	const struct command *cmd = NULL;

	if (args->nr_words) {
		cmd = command_find(args->word[0]);
		if (!cmd)
			return unknown(args->word[0]);
	}
	if (args->json)
		describe(cmd);
	else if (cmd)
		print_command_help(cmd);
	else
		print_help();
	return EX_OK;
}

static enum exit_code run(const struct command *cmd, const struct args *args)
{
	enum exit_code ret;

	output_setup(args->json, args->watch > 0);
	/* whoever runs it throws away what it says, as crun does */
	if (cmd->run == cmd_oci_hook)
		error_to_log();
	if (cmd->caps && !(cmd->caps & CAPS_APART)) {
		ret = caps_confine(cmd->name, cmd->caps);
		if (ret != EX_OK)
			return ret;
	}
	ret = cmd->run(args);
	/* what was done before a failure is worth printing, and doctor's findings are */
	if (json_object_object_length(output_root()))
		output_finish();
	return ret;
}

/* That is no failure of what was done. */
static bool reader_is_gone(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&out, 1, 0) == 1 && out.revents & (POLLERR | POLLHUP);
}

/* Else a table that a full disk has cut would be taken for a whole one. */
static enum exit_code said(const char *what, enum exit_code ret)
{
	ERROR_ABOUT("print", what);

	errno = 0;
	if ((!fflush(stdout) && !ferror(stdout)) || reader_is_gone() || ret != EX_OK)
		return ret;
	return fail(EX_FAILED, "what was to be done is done; have it printed elsewhere",
		    "not all of it could be written: %s",
		    errno ? strerror(errno) : "the device is full, or failed");
}

/* Errors in the options themselves must be JSON as well, wherever --json stands. */
static bool wants_json(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--json") || !strcmp(argv[i], "-j"))
			return true;
	return false;
}

/* A descriptor that is closed would be given to the next file, and output be written into that. */
static void fill_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

int main(int argc, char **argv)
{
	struct args args = {
		.argv = argv,
		.timeout = LOCK_SECONDS,
		.namespaces = DEFAULT_NAMESPACES,
		.paths = DEFAULT_PATHS,
	};
	const struct command *cmd;
	enum exit_code ret;
	int first;

	fill_standard_descriptors();
	args.json = wants_json(argc, argv);
	error_setup(args.json, 0);
	ret = args_global(&args, argc, argv, &first);
	if (ret != EX_OK)
		return ret;
	if (args.version || (args.help && first == argc)) {
		if (args.version)
			printf(PROGRAM " " MPS_VERSION "\n");
		else
			print_help();
		return said(args.version ? "the version" : "the help", EX_OK);
	}
	if (first == argc)
		return fail(EX_USAGE, "`" PROGRAM " help` shows what there is", "no command given");
	cmd = command_find(argv[first]);
	if (!cmd)
		return unknown(argv[first]);
	ret = args_command(&args, cmd, argc - first, argv + first);
	if (ret != EX_OK)
		return ret;
	if (args.version) {
		printf(PROGRAM " " MPS_VERSION "\n");
		return said("the version", EX_OK);
	}
	if (args.help) {
		print_command_help(cmd);
		return said("the help", EX_OK);
	}
	return said(cmd->name, run(cmd, &args));
}
