// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/syslog.h>
#include "kernel/klog.h"

/* A record is one read: "PRIORITY,NUMBER,TIME,FLAGS;TEXT", then lines that are not for people. */
#define RECORD_SIZE 8192

void klog_begin(struct klog *k)
{
	k->fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (k->fd < 0)
		k->fd = -errno;
	else
		lseek(k->fd, 0, SEEK_END);
}

/* The module's own lines and those that name it, and what the loader of modules says of any. */
static bool is_about(const char *text, const char *module)
{
	static const char *const of_any[] = { "Lockdown: ", "Loading of ", "Invalid ELF" };
	unsigned int i;

	for (i = 0; i < sizeof(of_any) / sizeof(of_any[0]); i++)
		if (!strncmp(text, of_any[i], strlen(of_any[i])))
			return true;
	return strstr(text, module);
}

/* The text of a record, and whether it is an error; NULL: it is none. */
static const char *text_of(char *record, bool *error)
{
	char *text = strchr(record, ';');

	if (!text)
		return NULL;
	*error = LOG_PRI(strtoul(record, NULL, 10)) <= LOG_ERR;
	text[strcspn(text, "\n")] = '\0';
	return text + 1;
}

int klog_end(struct klog *k, const char *module, char *line, size_t size)
{
	bool error, have_error = false;
	char record[RECORD_SIZE];
	const char *text;
	ssize_t n;

	*line = '\0';
	if (k->fd < 0)
		return k->fd;
	for (;;) {
		n = read(k->fd, record, sizeof(record) - 1);
		/* what was overwritten before it was read: there is more behind it */
		if (n < 0 && (errno == EINTR || errno == EPIPE))
			continue;
		if (n <= 0)
			break;
		record[n] = '\0';
		text = text_of(record, &error);
		if (!text || !is_about(text, module) || (have_error && !error))
			continue;
		have_error |= error;
		snprintf(line, size, "%s", text);
	}
	close(k->fd);
	k->fd = -EBADF;
	return 0;
}
