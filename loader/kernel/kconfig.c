// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <zlib.h>
#include "kernel/kconfig.h"

/* Many times what a kernel's configuration takes. */
#define MAX_CONFIG (2U << 20)

static char *config;

/* gzread() reads plain files as well. */
static char *read_config(const char *path)
{
	gzFile f = gzopen(path, "rb");
	char *text;
	int n;

	if (!f)
		return NULL;
	text = malloc(MAX_CONFIG + 2);
	/* a newline in front, so that every option stands behind one */
	n = text ? gzread(f, text + 1, MAX_CONFIG) : -1;
	gzclose(f);
	if (n <= 0) {
		free(text);
		return NULL;
	}
	text[0] = '\n';
	text[1 + n] = '\0';
	return text;
}

bool kconfig_source(const char **source)
{
	static char path[160];
	struct utsname un;

	uname(&un);
	*source = "/proc/config.gz";
	if (!config)
		config = read_config(*source);
	if (config)
		return true;
	snprintf(path, sizeof(path), "/boot/config-%s", un.release);
	config = read_config(path);
	*source = config ? path : "neither /proc/config.gz nor a config of this kernel in /boot";
	return config;
}

bool kconfig_has(const char *option)
{
	char line[80];
	const char *at;
	int len = snprintf(line, sizeof(line), "\n%s=", option);

	at = strstr(config, line);
	return at && (at[len] == 'y' || at[len] == 'm');
}
