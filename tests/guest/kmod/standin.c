// SPDX-License-Identifier: GPL-2.0
/*
 * Stands in for the bridge module, under its name. It refuses itself with EEXIST, which modprobe
 * takes for a module that is loaded already; with says=0 it loads, offers nothing and has no BTF.
 */
#include <linux/module.h>

static int says = -EEXIST;
module_param(says, int, 0444);

static int __init refuse(void)
{
	if (says)
		pr_err(KBUILD_MODNAME ": a stand-in that says %d\n", says);
	return says;
}

static void __exit leave(void)
{
}

module_init(refuse);
module_exit(leave);

MODULE_DESCRIPTION("A module of the bridge's name that is of no use, for tests");
MODULE_LICENSE("GPL");
