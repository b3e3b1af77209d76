// SPDX-License-Identifier: GPL-2.0
#include "target.h"

enum exit_code target_resolve(struct netns *ns, const char *operation, const struct args *args)
{
	if (args->container)
		return container_resolve(ns, operation, args->container);
	return netns_resolve(ns, operation, args->netns);
}
