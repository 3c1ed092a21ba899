/* base/rights: see rights.h. */
#include "base/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The head of union bpf_attr for BPF_LINK_CREATE with a multi uprobe, include/uapi/linux/bpf.h of 6.6:
 * the system headers of Debian 12 are older. */
struct link_create_uprobe_multi {
	__u32 prog_fd, target_fd, attach_type, flags;
	__u64 path, offsets, ref_ctr_offsets, cookies;
	__u32 cnt, multi_flags, pid, pad;
};

static int own_open(void *ctx, const char *path, int flags)
{
	(void)ctx;
	int fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int own_read_link(void *ctx, const char *path, char *out, size_t cap)
{
	(void)ctx;
	ssize_t n = readlink(path, out, cap);
	return n < 0 ? -errno : (int)n;
}

static int own_link(void *ctx, const struct rights_link *l)
{
	/* Through our own descriptor: the file's name may be gone, replaced, or of another namespace. */
	char path[64];
	struct link_create_uprobe_multi attr = {
		.prog_fd = (__u32)l->prog_fd, .attach_type = l->attach_type, .path = (__u64)(uintptr_t)path,
		.offsets = (__u64)(uintptr_t)l->offsets, .cookies = (__u64)(uintptr_t)l->cookies, .cnt = l->cnt,
		.multi_flags = l->flags, .pid = l->tgid,
	};
	(void)ctx;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", l->file_fd);
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : fd;
}

static int own_tracepoint(void *ctx, const char *name, int prog_fd)
{
	union bpf_attr attr = { 0 };
	(void)ctx;
	attr.raw_tracepoint.name = (__u64)(uintptr_t)name;
	attr.raw_tracepoint.prog_fd = (__u32)prog_fd;
	int fd = (int)syscall(SYS_bpf, BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));
	return fd < 0 ? -errno : fd;
}

static int own_array(void *ctx, const char *name, uint32_t value_sz)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = sizeof(uint32_t), .value_size = value_sz,
				.max_entries = 1, .map_flags = BPF_F_MMAPABLE };
	(void)ctx;
	strncpy(attr.map_name, name, sizeof(attr.map_name) - 1);
	int fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : fd;
}

static int own_mappings(void *ctx, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC, /* as in the records of our programs */
		.wakeup_events = 1,
	};
	(void)ctx;
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

const struct rights rights_own = {
	.open = own_open, .read_link = own_read_link, .link = own_link, .tracepoint = own_tracepoint,
	.array = own_array, .mappings = own_mappings,
};

static const struct rights *lent;

void rights_lend(const struct rights *r)
{
	lent = r;
}

const struct rights *rights_lent(void)
{
	return lent;
}

static const struct rights *now(void)
{
	return lent ? lent : &rights_own;
}

int rights_open(const char *path, int flags)
{
	return now()->open(now()->ctx, path, flags);
}

int rights_read_link(const char *path, char *out, size_t cap)
{
	return now()->read_link(now()->ctx, path, out, cap);
}

int rights_link(const struct rights_link *l)
{
	return now()->link(now()->ctx, l);
}

int rights_tracepoint(const char *name, int prog_fd)
{
	return now()->tracepoint(now()->ctx, name, prog_fd);
}

int rights_array(const char *name, uint32_t value_sz)
{
	return now()->array(now()->ctx, name, value_sz);
}

int rights_mappings(int cpu)
{
	return now()->mappings(now()->ctx, cpu);
}
