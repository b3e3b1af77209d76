// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernel says to the command: mounts, descriptors, its log, lists of schedulers, events of
 * its path manager; and what a terminal sends. The files that are opened in here have the input
 * for their content. The kernel is trusted, but names in these are anybody's: claims are few, as
 * most of it is text that is handed on.
 */
#include <fcntl.h>
#include <unistd.h>
#include "draw.h"

static const uint8_t *text;
static size_t text_len;
static bool taken;

static FILE *open_text(const char *path, const char *mode);
static int open_nothing(const char *path, ...);
static ssize_t next_record(int fd, void *buf, size_t size);
static int line_of(const char *path, char *buf, size_t size);

#define fopen open_text
#define open open_nothing
#define add add_netns
#include "../../loader/kernel/netns.c"
#undef add
#include "../../loader/sched/pindir.c"
#define found found_holder
#include "../../loader/sched/link_holders.c"
#undef found
#undef fopen
#define read next_record
#include "../../loader/kernel/klog.c"
#define take take_key
#include "../../loader/cli/keys.c"
#undef take
#undef read
#undef open
#define read_line line_of
#include "../../loader/kernel/kern.c"
#undef read_line
#include "../../loader/kernel/pm_events.c"

static FILE *open_text(const char *path, const char *mode)
{
	return fmemopen((void *)text, text_len ?: 1, "r");
}

static int open_nothing(const char *path, ...)
{
	errno = ENOENT;
	return -1;
}

/* A record is what stands before a NUL, at most what there is room for. */
static ssize_t next_record(int fd, void *buf, size_t size)
{
	size_t len = strnlen((const char *)text, text_len);

	if (!text_len)
		return 0;
	len = len < size ? len : size;
	memcpy(buf, text, len);
	text += len < text_len ? len + 1 : len;
	text_len -= len < text_len ? len + 1 : len;
	return len ? (ssize_t)len : -1;
}

static int line_of(const char *path, char *buf, size_t size)
{
	const size_t len = text_len < size - 1 ? text_len : size - 1;

	memcpy(buf, text, len);
	buf[len] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

static void mounts(void)
{
	struct netns_list l = { 0 };

	add_of_mounts(&l);
	claim(!l.nr, "what cannot be opened is none");
	netns_free(&l);
	first_process_bpffs();
}

static void kernel_log(void)
{
	struct klog k = { .fd = 1000 };
	char line[200];

	errno = 0;
	claim(!klog_end(&k, "mptcp_sched_bpf", line, sizeof(line)), "a log has an end");
	claim(memchr(line, '\0', sizeof(line)) && !strchr(line, '\n'), "of lines");
}

static void available(void)
{
	char names[MAX_AVAILABLE][MPS_NAME_LEN];
	unsigned int i, n = kern_available(names);

	claim(n <= MAX_AVAILABLE, "as many as fit");
	for (i = 0; i < n; i++)
		claim(*names[i] && memchr(names[i], '\0', MPS_NAME_LEN), "names");
}

static void terminal(void)
{
	while (text_len) {
		keys_read();
		claim(nr_pressed <= sizeof(pressed), "keys that fit");
		while (keys_next() != KEY_NONE)
			;
	}
	claim(nr_pressed < sizeof(pressed), "no key is stuck for ever");
	nr_pressed = 0;
}

static void on_event(const struct pm_event *e, void *arg)
{
	taken = true;
}

/* A message as long as it says, and not a byte behind it. */
static void events(bool family)
{
	struct call c = { on_event, NULL };
	const size_t len = sizeof(struct nlmsghdr) + sizeof(struct genlmsghdr) + text_len;
	struct nlmsghdr *nlh = calloc(1, MNL_ALIGN(len));
	__u32 id = 0;

	memcpy((char *)nlh + sizeof(*nlh), text, text_len);
	nlh->nlmsg_len = (__u32)len;
	nlh->nlmsg_type = 0x20;
	taken = false;
	mnl_cb_run(nlh, len, 0, 0, family ? on_family : on_message, family ? (void *)&id : &c);
	claim(family || taken, "an event is told");
	free(nlh);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	text = size ? data + 1 : data;
	text_len = size ? size - 1 : 0;
	search.link_id = 7;
	switch (size ? *data % 7 : 0) {
	case 0:
		mounts();
		break;
	case 1:
		fdinfo_has_link("");
		break;
	case 2:
		kernel_log();
		break;
	case 3:
		available();
		break;
	case 4:
		terminal();
		break;
	default:
		events(*data % 7 == 5);
		break;
	}
	return 0;
}
