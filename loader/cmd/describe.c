// SPDX-License-Identifier: GPL-2.0
/*
 * The tables of commands, options, exit codes and capabilities as one document: what
 * the manual page and the completion are made from (packaging/).
 */
#include "cli/caps.h"
#include "cli/config.h"
#include "cli/output.h"
#include "cmd/commands.h"
#include "kernel/kern.h"
#include "kernel/lock.h"
#include "kernel/pin.h"
#include "kernel/registry.h"
#include "sched/reinject.h"
#include "sched/steer_fields.h"
#include "sched/steer_state.h"
#include "sched/steer_verbs.h"

static const struct {
	const char *path, *text;
} files[] = {
	{ BPFFS, "the BPF file system in which schedulers are pinned" },
	{ PIN_DIR "/NAME", "the pin that keeps a scheduler registered; for its owner alone" },
	{ PIN_DIR "/NAME@PROGRAM", "the pin of another program of its object, such as the one "
				   "that asks for copies" },
	{ REINJECT_PIN, "the pin of what `use default --reinject` attaches" },
	{ CONFIG_FILE, "what `apply` makes the system match, and what annotations may load" },
	{ STEER_STATE_FILE,
	  "bytes that paths of bpf_steer have had; `steer account` keeps them there" },
	{ LOCK_FILE, "held by a command that changes something" },
	{ SYSCTL_DIR "/scheduler", "the scheduler of new sockets, per network namespace; what "
				   "`use` writes" },
	{ SYSCTL_DIR "/available_schedulers", "the schedulers that are registered" },
	{ "/run/netns", "names of network namespaces (ip-netns(8))" },
};

static void describe_options(output_t *list)
{
	const struct command *cmd;
	unsigned int id;

	for (id = 0; id < NR_OPTS; id++) {
		output_t *item = output_item(list), *of = output_list(item, "commands");

		output_str(item, "name", "%s", opts[id].name);
		if (opts[id].letter)
			output_str(item, "letter", "%c", opts[id].letter);
		else
			output_null(item, "letter");
		if (opts[id].value)
			output_str(item, "value", "%s", opts[id].value);
		else
			output_null(item, "value");
		output_str(item, "text", "%s", opts[id].text);
		output_flag(item, "every_command", OPTS_GLOBAL & OPT_BIT_OF(id));
		/* one name may mean one thing here and another there */
		for (cmd = commands; cmd->name; cmd++)
			if (cmd->opts & OPT_BIT_OF(id))
				output_word(of, cmd->name);
	}
}

static void describe_command(output_t *item, const struct command *cmd)
{
	output_t *own;
	unsigned int id;

	output_str(item, "name", "%s", cmd->name);
	output_str(item, "synopsis", "%s", cmd->synopsis);
	output_str(item, "text", "%s", cmd->text);
	if (cmd->details)
		output_str(item, "details", "%s", cmd->details);
	else
		output_null(item, "details");
	own = output_list(item, "options");
	for (id = 0; id < NR_OPTS; id++)
		if (cmd->opts & OPT_BIT_OF(id))
			output_word(own, opts[id].name);
	caps_out(output_list(item, "capabilities"), cmd->caps);
}

static void describe_fields(output_t *list, const struct steer_kind *k)
{
	const struct steer_field *f;

	for (f = k->fields; f->name; f++) {
		output_t *item = output_item(list);

		output_str(item, "name", "%s", f->name);
		if (*f->value)
			output_str(item, "value", "%s", f->value);
		else
			output_null(item, "value");
		output_str(item, "text", "%s", f->text);
		output_flag(item, "test", f->ask);
	}
}

static void describe_verb(output_t *item, const char *name, const char *words, const char *text)
{
	output_str(item, "name", "%s", name);
	output_str(item, "words", "%s", words + (*words == ' '));
	output_str(item, "text", "%s", text);
}

/* The words of `steer`. */
static void describe_steer(output_t *steer)
{
	output_t *list = output_list(steer, "verbs"), *item;

#define DESCRIBE_VERB(id, name, words, text) describe_verb(output_item(list), name, words, text);
	STEER_VERBS(DESCRIBE_VERB)
#undef DESCRIBE_VERB
	describe_fields(output_list(steer, "rule"), &steer_rule_kind);
	describe_fields(output_list(steer, "path"), &steer_path_kind);
	list = output_list(steer, "modes");
#define DESCRIBE_MODE(id, mode, policy, what) \
	item = output_item(list);             \
	output_str(item, "name", "%s", mode); \
	output_str(item, "text", "%s", what);
	MPS_STEER_MODES(DESCRIBE_MODE)
#undef DESCRIBE_MODE
}

static void describe_rest(output_t *root)
{
	output_t *codes = output_list(root, "exit_codes"), *list = output_list(root, "files"),
		 *item;
	unsigned int i;

#define DESCRIBE_EXIT(id, value, code, meaning) \
	item = output_item(codes);              \
	output_num(item, "code", value);        \
	output_str(item, "name", "%s", code);   \
	output_str(item, "text", "%s", meaning);
	EXIT_CODES(DESCRIBE_EXIT)
#undef DESCRIBE_EXIT
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		item = output_item(list);
		output_str(item, "path", "%s", files[i].path);
		output_str(item, "text", "%s", files[i].text);
	}
}

void describe(const struct command *only)
{
	output_t *list = output_list(output_root(), "commands");
	const struct command *cmd;

	output_str(output_root(), "version", "%s", MPS_VERSION);
	for (cmd = commands; cmd->name; cmd++)
		if (!only || cmd == only)
			describe_command(output_item(list), cmd);
	describe_options(output_list(output_root(), "options"));
	describe_steer(output_obj(output_root(), "steer"));
	describe_rest(output_root());
}
