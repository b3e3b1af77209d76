/* SPDX-License-Identifier: GPL-2.0 */
/* The words of `steer`: what it takes, explains and completes comes from here. */
#ifndef MPS_STEER_VERBS_H
#define MPS_STEER_VERBS_H

/* X(ID, name, what stands behind it, text) */
#define STEER_VERBS(X)                                                                             \
	X(list, "list", "", "both tables, as `replace` takes them; behind a # a rule's number")    \
	X(list_rules, "rule list", "", "the rules")                                                \
	X(list_paths, "path list", "", "the paths")                                                \
	X(add_rule, "rule add", " [at NUMBER] FIELD VALUE ...",                                    \
	  "behind the others, or before the rule of that number")                                  \
	X(add_path, "path add", " FIELD VALUE ...", "behind the others")                           \
	X(delete_rule, "rule delete", " NUMBER", "that rule")                                      \
	X(delete_path, "path delete", " NAME", "that path")                                        \
	X(flush, "flush", "", "delete all rules and paths")                                        \
	X(flush_rules, "rule flush", "", "delete all rules")                                       \
	X(flush_paths, "path flush", "", "delete all paths")                                       \
	X(replace_paths, "path replace", " -|FILE",                                                \
	  "all paths at once; from stdin, -, up to a line `end`")                                  \
	X(push, "push", " [HOST]",                                                                 \
	  "the paths to a peer that sends here, as it sees them: by ssh, or by --command")         \
	X(replace, "replace", " FILE", "both tables at once; a line begins with rule or path")     \
	X(show_accounts, "account show", "", "bytes of each path, in its period where it has one") \
	X(save_accounts, "account save", "",                                                       \
	  "ends periods that are over, and writes all to a file, for the next load")               \
	X(reset_accounts, "account reset", " [NAME]",                                              \
	  "that path's account begins at 0 again, or all do")                                      \
	X(option, "option", " [off]",                                                              \
	  "lets the processes of --cgroup name a mode for a socket of theirs; off: no more")       \
	X(test, "test", " FIELD VALUE ...", "which rule such a connection matches, and why")

#endif /* MPS_STEER_VERBS_H */
