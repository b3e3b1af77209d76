// SPDX-License-Identifier: GPL-2.0
/*
 * The command line (loader/cli/args.c, the whole of main()): words are what stands between NULs.
 * What the commands would do is left out; what they are given is looked at in their place. Claims:
 * numbers in their ranges, as many words as the command takes, one line for what is wrong, and
 * usage is all that can be wrong with words.
 */
#define main command_main
#define caps_confine drop_nothing
#define error_to_log log_nothing
#define cmd_list given
#define cmd_load given
#define cmd_unload given
#define cmd_use given
#define cmd_oci_hook given
#define cmd_apply given
#define cmd_get given
#define cmd_set given
#define cmd_steer given
#define cmd_show given
#define cmd_stats given
#define cmd_monitor given
#define cmd_trace given
#define cmd_replay given
#define cmd_exporter given
#define cmd_doctor given
#include "../../loader/main.c"
#undef main
#define describe describe_socket
#include "../../loader/exporter/listen.c"
#include "said.h"
#include "sched/tunable_table.h"

#define MOST_WORDS 150

enum exit_code drop_nothing(const char *command, unsigned int needs)
{
	return EX_OK;
}

void log_nothing(void)
{
}

/* 0 where it is not given */
static bool is_seconds(const struct args *args, enum opt_id id, double s, double least)
{
	return args->given & 1U << id ? s >= least && s <= 86400 : s == 0;
}

/* Of --listen; a name is not looked up. */
static enum exit_code check_address(const char *text)
{
	const bool is_unix = !strncmp(text, "unix:", 5);
	union address a = { 0 };
	socklen_t len = 0;
	enum exit_code ret = is_unix ? parse_unix(text, &a, &len) : parse_ip(text, &a, &len);

	if (ret != EX_OK)
		return ret;
	claim(len <= sizeof(a), "an address fits");
	claim(is_unix == (a.any.sa_family == AF_UNIX), "of its family");
	if (is_unix)
		claim(*a.un.sun_path == '/' && !strcmp(a.un.sun_path, text + 5), "and the path");
	return EX_OK;
}

enum exit_code given(const struct args *args)
{
	unsigned int i;

	claim(args->nr_words <= MAX_WORDS && args->nr_set <= MAX_SETS, "as many as fit");
	for (i = 0; i < args->nr_words; i++)
		claim(args->word[i], "each is one");
	claim(is_seconds(args, OPT_WATCH, args->watch, 0.1), "a time");
	claim(is_seconds(args, OPT_INTERVAL, args->interval, 0.1), "a time");
	claim(args->timeout >= 0 && args->timeout <= 86400, "a time to wait");
	claim(args->namespaces <= 99999 && args->paths <= 99999, "a number");
	claim(args->port <= 65535, "a port");
	claim(args->limit <= 999999999 && args->sample <= 999999999, "a number");
	claim(args->differences <= 999999 && args->nr_schedulers <= MAX_SCHEDULERS, "a number");
	claim(args->nr_hosts <= MAX_HOSTS, "as many as fit");
	claim(!(args->given & 1U << OPT_CONNECTION) == !args->token, "a token");
	claim(!args->help && !args->version, "these do nothing else");
	claim(!!args->netns + !!args->container + args->all_netns <= 1, "one place");
	if (args->listen)
		return check_address(args->listen);
	return tunable_table_check_words(EX_USAGE, args->set, args->nr_set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char sink[1 << 16];
	FILE *real = stdout;
	char *text = malloc(size + 1), *argv[MOST_WORDS + 2] = { "mptcp-sched" }, *at = text;
	int argc = 1, ret;

	memcpy(text, data, size);
	text[size] = '\0';
	for (; argc <= MOST_WORDS && at < text + size; at += strlen(at) + 1)
		argv[argc++] = at;
	said_begin(wants_json(argc, argv));
	stdout = fmemopen(sink, sizeof(sink), "w");
	ret = command_main(argc, argv);
	fclose(stdout);
	stdout = real;
	said_end(ret);
	claim(ret == EX_OK || ret == EX_USAGE, "words are usage");
	output_forget();
	free(text);
	return 0;
}
