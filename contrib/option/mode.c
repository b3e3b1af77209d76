// SPDX-License-Identifier: GPL-2.0
/* A socket that names its mode of bpf_steer: `mode redundant`. See docs/use/steering.md. */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#ifndef SOL_MPTCP
#define SOL_MPTCP 284
#endif
#define MPTCP_STEER_MODE 0x4d53

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "redundant";
	int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	char now[16] = "";
	socklen_t size = sizeof(now);

	if (fd < 0 || setsockopt(fd, SOL_MPTCP, MPTCP_STEER_MODE, mode, strlen(mode) + 1) ||
	    getsockopt(fd, SOL_MPTCP, MPTCP_STEER_MODE, now, &size)) {
		perror(mode);
		return 1;
	}
	return puts(now) < 0;
}
