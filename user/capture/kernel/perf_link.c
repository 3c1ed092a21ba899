/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/perf_link: see perf_link.h. What libbpf does, but without memory and locks, so that it can be done unkilled. */
#include "kernel/perf_link.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unkilled/unkilled.h"

#define UPROBES "/sys/bus/event_source/devices/uprobe/"
#define COUNTER_SHIFT 32 /* PERF_UPROBE_REF_CTR_OFFSET_SHIFT, kernel/events/core.c */

struct opening {
	const struct perf_site *site;
	struct perf_event_attr event;
	union bpf_attr link;
};

/* The link keeps the event. */
static int open_link(void *ctx)
{
	struct opening *o = ctx;
	pid_t tgid = o->site->tgid ? (pid_t)o->site->tgid : -1;
	int event = (int)syscall(SYS_perf_event_open, &o->event, tgid, tgid > 0 ? -1 : 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		return -errno;
	o->link.link_create.target_fd = (__u32)event;
	int link = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &o->link, sizeof(o->link));
	int rc = link < 0 || ioctl(event, PERF_EVENT_IOC_ENABLE, 0) ? -errno : link;
	if (rc < 0 && link >= 0)
		close(link);
	close(event);
	return rc;
}

/* A number in a file of the kernel's that says how uprobes are opened; or -errno. */
static int number_in(const char *path, const char *format)
{
	int number, rc = -ENOTSUP;
	FILE *f = fopen(path, "re");
	if (f && fscanf(f, format, &number) == 1)
		rc = number;
	if (f)
		fclose(f);
	return rc;
}

int perf_link_open(const struct perf_site *s)
{
	char path[64];
	int type = number_in(UPROBES "type", "%d"), bit = s->at_return ? number_in(UPROBES "format/retprobe", "config:%d") : 0;
	if (type < 0 || bit < 0)
		return type < 0 ? type : bit;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), s->file_fd);
	struct opening o = {
		.site = s,
		.event = { .size = sizeof(o.event),
			   .type = (__u32)type,
			   .config = s->counter << COUNTER_SHIFT | (s->at_return ? 1ull << bit : 0),
			   .uprobe_path = (__u64)(uintptr_t)path,
			   .probe_offset = s->offset },
		.link.link_create = { .prog_fd = (__u32)s->prog_fd,
				      .attach_type = BPF_PERF_EVENT,
				      .perf_event.bpf_cookie = s->cookie },
	};
	return unkilled_do(open_link, &o);
}
