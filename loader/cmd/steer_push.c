// SPDX-License-Identifier: GPL-2.0
/*
 * steer push: this machine's paths, to the peer that sends to it. A channel that is there already
 * carries them, ssh or what the user names, to the same command at its other end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cli/input.h"
#include "cli/subprocess.h"
#include "cli/util.h"
#include "cmd/steer.h"
#include "sched/steer_turn.h"

/* Time for a question that ssh may have. */
#define CHANNEL_MS 120000
#define SHELL "/bin/sh"
/* The words of a channel, then these: they have nothing in them that ssh's shell would read. */
#define AT_THE_PEER PROGRAM " steer path replace -"
#define HINT_CHANNEL "the channel is to run `" AT_THE_PEER "` at the peer, as root"

static void write_rows(FILE *to, const struct mps_steer_table *peer)
{
	char line[STEER_LINE];
	unsigned int i;

	for (i = 0; i < peer->nr_paths; i++)
		fprintf(to, "path %s\n",
			steer_write(&steer_path_kind, &peer->path[i], line, sizeof(line)));
	/* what was cut off has none */
	fprintf(to, STEER_END "\n");
}

/* A file of it, read from its beginning, or -1. */
static int file_of(const struct mps_steer_table *peer)
{
	const int fd = memfd_create("paths", MFD_CLOEXEC);
	FILE *to = fd < 0 ? NULL : fdopen(dup(fd), "w");

	if (!to) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	write_rows(to, peer);
	if (fclose(to) || lseek(fd, 0, SEEK_SET)) {
		close(fd);
		return -1;
	}
	return fd;
}

static enum exit_code no_answer(int err)
{
	if (err == -ETIME)
		return fail(EX_FAILED, HINT_CHANNEL, "no answer within %d s", CHANNEL_MS / 1000);
	if (err == -EFBIG)
		return fail(EX_FAILED, HINT_CHANNEL, "the answer has more than %lu MiB",
			    INPUT_ANSWER / MIB);
	return fail(code_of(-err), HINT_CHANNEL, "the channel cannot be run: %s", strerror(-err));
}

/* Through a shell, as the user's words may be quoted. */
static enum exit_code carry(const char *channel, int fd)
{
	char *argv[] = { (char *)"sh", (char *)"-c", NULL, NULL };
	enum exit_code ret = EX_OK;
	struct subprocess c;
	int err;

	if (asprintf(&argv[2], "%s " AT_THE_PEER, channel) < 0)
		out_of_memory();
	err = subprocess_feed(&c, SHELL, argv, fd, CHANNEL_MS, INPUT_ANSWER);
	free(argv[2]);
	if (err)
		return no_answer(err);
	if (c.status)
		ret = fail(EX_FAILED, HINT_CHANNEL, "the peer has not taken them: %s",
			   *c.said ? c.said : "exit status not 0, and no word why");
	free(c.out);
	return ret;
}

enum exit_code steer_push(const struct mps_steer_table *t, const char *channel)
{
	struct mps_steer_table *peer = calloc(1, sizeof(*peer));
	enum exit_code ret;
	unsigned int i;
	int fd = -1;

	if (!peer)
		out_of_memory();
	ret = steer_turn_paths(peer, t);
	if (ret == EX_OK)
		fd = file_of(peer);
	if (ret == EX_OK && fd < 0)
		ret = fail(code_of(errno), NULL, "no file for the paths: %s", strerror(errno));
	if (ret == EX_OK)
		ret = carry(channel, fd);
	if (fd >= 0)
		close(fd);
	for (i = 0; ret == EX_OK && i < peer->nr_paths; i++)
		output_row(output_item(output_list(output_root(), "pushed")), &steer_path_kind,
			   &peer->path[i], "");
	free(peer);
	return ret;
}
