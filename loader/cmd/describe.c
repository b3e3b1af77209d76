// SPDX-License-Identifier: GPL-2.0
/*
 * The tables of commands, options, exit codes and capabilities as one document: what
 * the manual page and the completion are made from (packaging/).
 */
#include "args.h"
#include "caps.h"
#include "config.h"
#include "kern.h"
#include "lock.h"
#include "out.h"
#include "registry.h"
#include "reinject.h"

static const struct {
	const char *path, *text;
} files[] = {
	{ BPFFS, "the BPF file system in which schedulers are pinned" },
	{ PIN_DIR "/NAME", "the pin that keeps a scheduler registered; for its owner alone" },
	{ PIN_DIR "/NAME@PROGRAM", "the pin of another program of its object, such as the one "
				   "that asks for copies" },
	{ REINJECT_PIN, "the pin of what `use default --reinject` attaches" },
	{ CONFIG_FILE, "what `apply` makes the system match" },
	{ LOCK_FILE, "held by a command that changes something" },
	{ SYSCTL_DIR "/scheduler", "the scheduler of new sockets, per network namespace; what "
				   "`use` writes" },
	{ SYSCTL_DIR "/available_schedulers", "the schedulers that are registered" },
	{ "/run/netns", "names of network namespaces (ip-netns(8))" },
};

static void describe_options(out_t *list)
{
	const struct command *cmd;
	unsigned int id;

	for (id = 0; id < NR_OPTS; id++) {
		out_t *item = out_item(list), *of = out_list(item, "commands");

		out_str(item, "name", "%s", opts[id].name);
		if (opts[id].letter)
			out_str(item, "letter", "%c", opts[id].letter);
		else
			out_null(item, "letter");
		if (opts[id].value)
			out_str(item, "value", "%s", opts[id].value);
		else
			out_null(item, "value");
		out_str(item, "text", "%s", opts[id].text);
		out_flag(item, "every_command", OPTS_GLOBAL & (1U << id));
		/* one name may mean one thing here and another there */
		for (cmd = commands; cmd->name; cmd++)
			if (cmd->opts & (1U << id))
				out_word(of, cmd->name);
	}
}

static void describe_command(out_t *item, const struct command *cmd)
{
	out_t *own;
	unsigned int id;

	out_str(item, "name", "%s", cmd->name);
	out_str(item, "synopsis", "%s", cmd->synopsis);
	out_str(item, "text", "%s", cmd->text);
	if (cmd->details)
		out_str(item, "details", "%s", cmd->details);
	else
		out_null(item, "details");
	own = out_list(item, "options");
	for (id = 0; id < NR_OPTS; id++)
		if (cmd->opts & (1U << id))
			out_word(own, opts[id].name);
	caps_out(out_list(item, "capabilities"), cmd->caps);
}

static void describe_rest(out_t *root)
{
	out_t *codes = out_list(root, "exit_codes"), *list = out_list(root, "files"), *item;
	unsigned int i;

#define DESCRIBE_EXIT(id, value, code, meaning) \
	item = out_item(codes);                 \
	out_num(item, "code", value);           \
	out_str(item, "name", "%s", code);      \
	out_str(item, "text", "%s", meaning);
	EXIT_CODES(DESCRIBE_EXIT)
#undef DESCRIBE_EXIT
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		item = out_item(list);
		out_str(item, "path", "%s", files[i].path);
		out_str(item, "text", "%s", files[i].text);
	}
}

void describe(const struct command *only)
{
	out_t *list = out_list(out_root(), "commands");
	const struct command *cmd;

	out_str(out_root(), "version", "%s", MPS_VERSION);
	for (cmd = commands; cmd->name; cmd++)
		if (!only || cmd == only)
			describe_command(out_item(list), cmd);
	describe_options(out_list(out_root(), "options"));
	describe_rest(out_root());
}
