// SPDX-License-Identifier: GPL-2.0
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/args.h"
#include "cli/caps.h"
#include "cli/config.h"

const struct opt opts[NR_OPTS] = {
	[OPT_JSON] = { "json", 'j', NULL, "print JSON" },
	[OPT_VERBOSE] = { "verbose", 'v', NULL,
			  "say more; libbpf's and the verifier's log (twice: all of it)" },
	[OPT_HELP] = { "help", 'h', NULL, "print help" },
	[OPT_VERSION] = { "version", 'V', NULL, "print the version" },
	[OPT_SET] = { "set", 's', "NAME=VALUE", "set a tunable (`list --verbose` shows them)" },
	[OPT_NETNS] = { "netns", 'n', "NAME|PATH|PID", "a network namespace other than this one" },
	[OPT_CONTAINER] = { "container", 'c', "NAME|ID",
			    "the network namespace of a running container" },
	[OPT_ALL_NETNS] = { "all", 'a', NULL, "every network namespace that can be found" },
	[OPT_ALL] = { "all", 'a', NULL, "all that this command has loaded" },
	[OPT_FORCE] = { "force", 'f', NULL, "even if a namespace still selects it" },
	[OPT_REINJECT] = { "reinject", 'r', NULL,
			   "with default: copy data early that a slow subflow holds up" },
	[OPT_TIMEOUT] = { "timeout", 't', "SECONDS",
			  "how long to wait for another command that changes something (10)" },
	[OPT_CONFIG] = { "config", 'C', "FILE", "instead of " CONFIG_FILE },
	[OPT_DRY_RUN] = { "dry-run", 'N', NULL, "say what would change, and change nothing" },
	[OPT_LISTEN] = { "listen", 'l', "ADDR:PORT", "an address and a port, or unix:PATH" },
	[OPT_INTERVAL] = { "interval", 'i', "SECONDS", "time between two readings" },
	[OPT_NAMESPACES] = { "namespaces", 0, "MAX", "namespaces with a label of their own (100)" },
	[OPT_PATHS] = { "paths", 0, "MAX", "paths with a label, per namespace and scheduler (16)" },
	[OPT_PER_CONNECTION] = { "per-connection", 0, NULL,
				 "counters of every live connection, too" },
	[OPT_CONNECTION] = { "connection", 0, "TOKEN",
			     "only the connection with this token, as `stats` shows it" },
	[OPT_PORT] = { "port", 0, "PORT", "only connections with this port, of either end" },
	[OPT_LIMIT] = { "limit", 0, "NUMBER", "end after this number of decisions" },
	[OPT_SAMPLE] = { "sample", 0, "NUMBER", "one of this number of decisions, at random" },
	[OPT_EACH_PATH] = { "each-path", 'p', NULL,
			    "text: a line for each path below its decision" },
	[OPT_NO_GLANCES] = { "no-glances", 0, NULL,
			     "without the waits for room, of which a policy is not asked" },
	[OPT_RECORD] = { "record", 0, "FILE",
			 "write decisions to this file instead, for `replay`" },
	[OPT_ANONYMISE] = { "anonymise", 0, NULL, "with --record: numbers in place of addresses" },
	[OPT_SCHEDULER] = { "scheduler", 0, "NAME[:SETTING...]",
			    "one to decide, with these TUNABLE=VALUE; may be given several times" },
	[OPT_DIFFERENCES] = { "differences", 'd', "NUMBER",
			      "list at most this number of decisions that are not the same" },
	[OPT_COMMAND] = { "command", 0, "WORDS",
			  "of `push`: what runs a command at the peer, as `podman exec -i web`" },
	[OPT_CGROUP] = { "cgroup", 0, "PATH", "of `option`: below /sys/fs/cgroup" },
	[OPT_TOP] = { "top", 0, "NUMBER", "only this number of connections, the busiest" },
	[OPT_UI] = { "ui", 0, NULL, "serve a page for a browser, too, and what it shows as JSON" },
	[OPT_SOCKET_GROUP] = { "socket-group", 0, "GROUP",
			       "of unix:PATH: members of this group may connect, too" },
	[OPT_HOST] = { "host", 0, "HOST",
		       "another name by which it may be asked; may be given several times" },
	[OPT_WATCH] = { "watch", 'w', "SECONDS", "print again every SECONDS, until interrupted" },
};

static enum exit_code usage(const char *object, const char *why, const char *detail)
{
	ERROR_ABOUT("run", object);

	return fail(EX_USAGE, "`" PROGRAM " help` shows how", "%s%s", why, detail);
}

static enum exit_code take_seconds(double *seconds, double min, const char *option,
				   const char *value)
{
	char *end, why[80];

	*seconds = strtod(value, &end);
	if (end != value && !*end && isfinite(*seconds) && *seconds >= min && *seconds <= 86400)
		return EX_OK;
	snprintf(why, sizeof(why), "not a number of seconds from %g to 86400: ", min);
	return usage(option, why, value);
}

static enum exit_code take_number(unsigned int *number, unsigned int min, unsigned int max,
				  const char *option, const char *value)
{
	char why[80];

	/* so many digits fit */
	if (*value && strlen(value) < 10 && strspn(value, "0123456789") == strlen(value)) {
		*number = (unsigned int)atoi(value);
		if (*number >= min && *number <= max)
			return EX_OK;
	}
	snprintf(why, sizeof(why), "not a number from %u to %u: ", min, max);
	return usage(option, why, value);
}

/* As `stats` shows it, or as `ss` and `ip mptcp` do: without 0x. */
static enum exit_code take_token(unsigned int *token, const char *option, const char *value)
{
	const char *digits = strncmp(value, "0x", 2) ? value : value + 2;

	if (*digits && strlen(digits) <= 8 &&
	    strspn(digits, "0123456789abcdefABCDEF") == strlen(digits))
		*token = (unsigned int)strtoul(digits, NULL, 16);
	return *token ? EX_OK : usage(option, "not a token, of up to eight hex digits: ", value);
}

/* The second value would replace the first in silence; two may come more often. */
static enum exit_code take_once(struct args *args, enum opt_id id)
{
	char name[40];

	if (!opts[id].value || id == OPT_SET || id == OPT_SCHEDULER || id == OPT_HOST)
		return EX_OK;
	snprintf(name, sizeof(name), "--%s", opts[id].name);
	if (args->given & OPT_BIT_OF(id))
		return usage(name, "given twice", "");
	args->given |= OPT_BIT_OF(id);
	return EX_OK;
}

static enum exit_code take(struct args *args, enum opt_id id, const char *value)
{
	switch (id) {
	case OPT_JSON:
		args->json = true;
		break;
	case OPT_VERBOSE:
		args->verbose++;
		break;
	case OPT_HELP:
		args->help = true;
		break;
	case OPT_VERSION:
		args->version = true;
		break;
	case OPT_SET:
		if (args->nr_set == MAX_SETS)
			return usage("--set", "too many tunables", "");
		args->set[args->nr_set++] = value;
		break;
	case OPT_NETNS:
		args->netns = value;
		break;
	case OPT_CONTAINER:
		args->container = value;
		break;
	case OPT_ALL_NETNS:
		args->all_netns = true;
		break;
	case OPT_ALL:
		args->all = true;
		break;
	case OPT_FORCE:
		args->force = true;
		break;
	case OPT_CONFIG:
		args->config = value;
		break;
	case OPT_DRY_RUN:
		args->dry_run = true;
		break;
	case OPT_REINJECT:
		args->reinject = true;
		break;
	case OPT_WATCH:
		return take_seconds(&args->watch, 0.1, "--watch", value);
	case OPT_TIMEOUT:
		return take_seconds(&args->timeout, 0, "--timeout", value);
	case OPT_LISTEN:
		args->listen = value;
		break;
	case OPT_SOCKET_GROUP:
		args->socket_group = value;
		break;
	case OPT_HOST:
		if (args->nr_hosts == MAX_HOSTS)
			return usage("--host", "too many names", "");
		args->host[args->nr_hosts++] = value;
		break;
	case OPT_INTERVAL:
		return take_seconds(&args->interval, 0.1, "--interval", value);
	case OPT_NAMESPACES:
		return take_number(&args->namespaces, 0, 99999, "--namespaces", value);
	case OPT_PATHS:
		return take_number(&args->paths, 0, 99999, "--paths", value);
	case OPT_CONNECTION:
		return take_token(&args->token, "--connection", value);
	case OPT_PORT:
		return take_number(&args->port, 1, 65535, "--port", value);
	case OPT_LIMIT:
		return take_number(&args->limit, 1, 999999999, "--limit", value);
	case OPT_SAMPLE:
		return take_number(&args->sample, 1, 999999999, "--sample", value);
	case OPT_DIFFERENCES:
		return take_number(&args->differences, 1, 999999, "--differences", value);
	case OPT_TOP:
		return take_number(&args->top, 1, MAX_TOP, "--top", value);
	case OPT_UI:
		args->ui = true;
		break;
	case OPT_EACH_PATH:
		args->each_path = true;
		break;
	case OPT_NO_GLANCES:
		args->no_glances = true;
		break;
	case OPT_RECORD:
		args->record = value;
		break;
	case OPT_COMMAND:
		args->command = value;
		break;
	case OPT_CGROUP:
		args->cgroup = value;
		break;
	case OPT_ANONYMISE:
		args->anonymise = true;
		break;
	case OPT_SCHEDULER:
		if (args->nr_schedulers == MAX_SCHEDULERS)
			return usage("--scheduler", "too many schedulers", "");
		args->scheduler[args->nr_schedulers++] = value;
		break;
	case OPT_PER_CONNECTION:
		args->per_connection = true;
		break;
	default:
		break;
	}
	error_setup(args->json, args->verbose);
	return EX_OK;
}

/* The letter of an option without one: out of the range of characters. */
static int opt_code(unsigned int id)
{
	return opts[id].letter ? opts[id].letter : 256 + (int)id;
}

/* Two options may have one name, for commands that accept either. */
static unsigned int opt_id(int code, opt_set_t accepted)
{
	unsigned int id;

	for (id = 0; id < NR_OPTS; id++)
		if ((accepted & OPT_BIT_OF(id)) && opt_code(id) == code)
			break;
	return id;
}

/* order "+": stop at the first word; "": take words and options in any order. */
static enum exit_code parse(struct args *args, const char *order, opt_set_t accepted, int argc,
			    char **argv)
{
	struct option longs[NR_OPTS + 1] = { 0 };
	char shorts[3 * NR_OPTS + 4];
	size_t at = (size_t)snprintf(shorts, sizeof(shorts), "%s:", order);
	unsigned int id, n = 0;
	enum exit_code ret = EX_OK;
	char letter[] = "-?";
	int c;

	for (id = 0; id < NR_OPTS; id++) {
		if (!(accepted & OPT_BIT_OF(id)))
			continue;
		longs[n].name = opts[id].name;
		longs[n].has_arg = opts[id].value ? required_argument : no_argument;
		longs[n++].val = opt_code(id);
		if (opts[id].letter)
			at += (size_t)snprintf(shorts + at, sizeof(shorts) - at, "%c%s",
					       opts[id].letter, opts[id].value ? ":" : "");
	}
	opterr = 0;
	optind = 0;
	while (ret == EX_OK && (c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (c == ':')
			return usage(argv[optind - 1], "this option needs a value", "");
		id = c == '?' ? NR_OPTS : opt_id(c, accepted);
		/* one of several letters: the word that has them is not over yet */
		letter[1] = (char)optopt;
		if (id == NR_OPTS)
			return usage(optopt && opt_id(optopt, accepted) == NR_OPTS
					     ? letter
					     : argv[optind - 1],
				     "no such option here", "");
		ret = take_once(args, (enum opt_id)id);
		if (ret == EX_OK)
			ret = take(args, (enum opt_id)id, optarg);
	}
	return ret;
}

enum exit_code args_global(struct args *args, int argc, char **argv, int *first)
{
	enum exit_code ret = parse(args, "+", OPTS_GLOBAL, argc, argv);

	*first = optind;
	return ret;
}

enum exit_code args_command(struct args *args, const struct command *cmd, int argc, char **argv)
{
	enum exit_code ret = parse(args, "", OPTS_GLOBAL | cmd->opts, argc, argv);
	unsigned int min = args->all ? 0 : cmd->min_words;

	if (ret != EX_OK || args->help || args->version)
		return ret;
	if (!!args->netns + !!args->container + args->all_netns > 1)
		return usage(cmd->name, "only one of --netns, --container and --all", "");
	for (; optind < argc; optind++) {
		if (args->nr_words == (args->all ? 0 : cmd->max_words))
			return usage(cmd->name, "one word too many: ", argv[optind]);
		args->word[args->nr_words++] = argv[optind];
	}
	if (args->nr_words < min)
		return usage(cmd->name, "it takes ", cmd->synopsis);
	return EX_OK;
}

static void print_opts(opt_set_t which)
{
	unsigned int id;

	for (id = 0; id < NR_OPTS; id++) {
		char left[40], letter[8] = "    ";

		if (!(which & OPT_BIT_OF(id)))
			continue;
		if (opts[id].letter)
			snprintf(letter, sizeof(letter), "-%c, ", opts[id].letter);
		snprintf(left, sizeof(left), "%s--%s%s%s", letter, opts[id].name,
			 opts[id].value ? " " : "", opts[id].value ? opts[id].value : "");
		printf("  %-28s %s\n", left, opts[id].text);
	}
}

void print_help(void)
{
	const struct command *cmd;

	printf("Usage: " PROGRAM " [OPTIONS] COMMAND [...]\n"
	       "MPTCP packet schedulers in BPF: load, select and watch them.\n\nCommands:\n");
	for (cmd = commands; cmd->name; cmd++) {
		char left[64];

		snprintf(left, sizeof(left), "%s %s", cmd->name, cmd->synopsis);
		printf("  %-40s %s\n", left, cmd->text);
	}
	printf("\nOptions of every command:\n");
	print_opts(OPTS_GLOBAL);
	printf("\nExit codes:\n");
	print_exit_codes();
}

void print_command_help(const struct command *cmd)
{
	printf("Usage: " PROGRAM " %s [OPTIONS]%s%s\n%s\n", cmd->name, *cmd->synopsis ? " " : "",
	       cmd->synopsis, cmd->text);
	if (cmd->details)
		printf("\n%s\n", cmd->details);
	printf("\nOptions:\n");
	print_opts(cmd->opts | OPTS_GLOBAL);
	if (!cmd->caps)
		return;
	printf("\nCapabilities that it uses, all others are dropped:\n");
	caps_print(cmd->caps);
}
