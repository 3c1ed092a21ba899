/* SPDX-License-Identifier: Apache-2.0 */
/* access/rights: see rights.h. */
#include "access/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "access/environment.h"
#include "access/perfmap_dir.h"
#include "access/smaps.h"
#include "access/thread_stacks.h"
#include "access/target_files.h"
#include "unkilled/unkilled.h"

/*
 * The first fields of union bpf_attr for BPF_LINK_CREATE with multi uprobes, as in include/uapi/linux/bpf.h of 6.6:
 * Debian 12's headers are older.
 */
struct link_create_uprobe_multi {
	__u32 prog_fd, target_fd, attach_type, flags;
	__u64 path, offsets, ref_ctr_offsets, cookies;
	__u32 cnt, multi_flags, pid, pad;
};

static int own_maps(void *ctx, uint32_t tid)
{
	char path[32];
	(void)ctx;
	snprintf(path, sizeof(path), "/proc/%u/maps", tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int own_fact(void *ctx, uint32_t tid, enum rights_fact what)
{
	static const char *const names[FACT_CNT] = { "stat", "status", "statm", "comm", "cgroup", "smaps", "pagemap" };
	char path[40];
	(void)ctx;
	if (what >= FACT_CNT)
		return -EPROTO;
	snprintf(path, sizeof(path), "/proc/%u/%s", tid, names[what]);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int own_exe(void *ctx, uint32_t tid, char *out, size_t cap)
{
	char path[32];
	(void)ctx;
	snprintf(path, sizeof(path), "/proc/%u/exe", tid);
	ssize_t n = readlink(path, out, cap);
	return n < 0 ? -errno : (int)n;
}

static int own_environment(void *ctx, uint32_t tid, char *out)
{
	(void)ctx;
	return environment_read(tid, out);
}

static int own_mapped(void *ctx, uint32_t tid, uint64_t start, uint64_t end)
{
	(void)ctx;
	return target_file_mapped(tid, start, end);
}

static int own_file(void *ctx, uint32_t tid, const char *path)
{
	(void)ctx;
	return target_file_open(tid, path);
}

static int64_t own_memory(void *ctx, uint32_t tid, const struct rights_range *r, size_t cnt, void *out)
{
	struct iovec here = { out, 0 }, there[IOV_MAX];
	(void)ctx;
	cnt = cnt < IOV_MAX ? cnt : IOV_MAX;
	for (size_t i = 0; i < cnt; i++) {
		there[i] = (struct iovec){ (void *)(uintptr_t)r[i].addr, r[i].n };
		here.iov_len += r[i].n;
	}
	ssize_t got = process_vm_readv((pid_t)tid, &here, 1, there, cnt, 0);
	return got < 0 ? -errno : got;
}

#define PRESENT (1ull << 63) /* Documentation/admin-guide/mm/pagemap.rst */

static int own_present(void *ctx, uint32_t tid, const uint64_t *at, size_t cnt, uint8_t *out)
{
	int fd = own_fact(ctx, tid, FACT_PAGEMAP);
	if (fd < 0)
		return fd;
	for (size_t i = 0; i < cnt; i++) {
		uint64_t entry = 0;
		off_t where = (off_t)(at[i] / (uint64_t)sysconf(_SC_PAGESIZE) * sizeof(entry));
		/* What cannot be read counts as resident. */
		out[i] = pread(fd, &entry, sizeof(entry), where) != (ssize_t)sizeof(entry) || entry & PRESENT;
	}
	close(fd);
	return 0;
}

static int own_threads(void *ctx, uint32_t tgid, enum rights_threads how, uint32_t from, struct rights_thread *out, size_t cap)
{
	(void)ctx;
	return thread_stacks_do(tgid, how, from, out, cap);
}

static int own_place(void *ctx, enum rights_place what, int number)
{
	(void)ctx;
	switch (what) {
	case PLACE_OPEN: return perfmap_dir_open((uint32_t)number);
	case PLACE_SHARE: return perfmap_dir_share(number);
	case PLACE_MAP: return perfmap_dir_map(number);
	default: perfmap_dir_close(number); return 0;
	}
}

static int create_link(void *attr)
{
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, attr, sizeof(struct link_create_uprobe_multi));
	return fd < 0 ? -errno : fd;
}

static int own_link(void *ctx, const struct rights_link *l)
{
	/* Opened through our own descriptor: the path may be deleted, replaced, or of another namespace. */
	char path[64];
	struct link_create_uprobe_multi attr = {
		.prog_fd = (__u32)l->prog_fd,
		.attach_type = l->attach_type,
		.path = (__u64)(uintptr_t)path,
		.offsets = (__u64)(uintptr_t)l->offsets,
		.ref_ctr_offsets = (__u64)(uintptr_t)l->counters,
		.cookies = (__u64)(uintptr_t)l->cookies,
		.cnt = l->cnt,
		.multi_flags = l->flags,
		.pid = l->tgid,
	};
	(void)ctx;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", l->file_fd);
	return unkilled_do(create_link, &attr);
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

/* The link keeps the event open. */
static int own_faults(void *ctx, int cpu, int prog_fd)
{
	struct perf_event_attr event = {
		.size = sizeof(event), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS, .sample_period = 1
	};
	int event_fd = (int)syscall(SYS_perf_event_open, &event, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (event_fd < 0)
		return -errno;
	union bpf_attr attr = {
		.link_create = { .prog_fd = (__u32)prog_fd, .target_fd = (__u32)event_fd, .attach_type = BPF_PERF_EVENT }
	};
	(void)ctx;
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr)), rc = fd < 0 ? -errno : fd;
	close(event_fd);
	return rc;
}

static int own_array(void *ctx, const char *name, uint32_t value_sz)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_ARRAY,
				.key_size = sizeof(uint32_t),
				.value_size = value_sz,
				.max_entries = 1,
				.map_flags = BPF_F_MMAPABLE };
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
		.clockid = CLOCK_MONOTONIC, /* same clock as the records of our BPF programs */
		.wakeup_events = 1,
	};
	(void)ctx;
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int own_ours(void *ctx, int fd)
{
	char link[40], path[4096];
	struct stat file, found;
	(void)ctx;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = 0;
	if (n <= 0 || fstat(fd, &file))
		return -errno;
	return !stat(path, &found) && file.st_dev == found.st_dev && file.st_ino == found.st_ino;
}

static int own_footprint(void *ctx)
{
	uint64_t kib = smaps_of_family((uint32_t)getpid()) / 1024;
	(void)ctx;
	return kib < INT_MAX ? (int)kib : INT_MAX;
}

const struct rights rights_own = {
	.maps = own_maps,
	.fact = own_fact,
	.exe = own_exe,
	.environment = own_environment,
	.mapped = own_mapped,
	.file = own_file,
	.memory = own_memory,
	.present = own_present,
	.threads = own_threads,
	.place = own_place,
	.link = own_link,
	.tracepoint = own_tracepoint,
	.faults = own_faults,
	.array = own_array,
	.mappings = own_mappings,
	.ours = own_ours,
	.footprint = own_footprint,
};

static const struct rights *lent;

void rights_delegate(const struct rights *r)
{
	lent = r;
}

const struct rights *rights_delegated(void)
{
	return lent;
}

static const struct rights *now(void)
{
	return lent ? lent : &rights_own;
}

int rights_maps(uint32_t tid)
{
	return now()->maps(now()->ctx, tid);
}

/* Asks the broker only if the kernel refuses direct access, since asking takes twice the work for a frequent operation. */
int rights_fact(uint32_t tid, enum rights_fact what)
{
	int fd = own_fact(NULL, tid, what);
	return fd < 0 && lent ? lent->fact(lent->ctx, tid, what) : fd;
}

int rights_exe(uint32_t tid, char *out, size_t cap)
{
	return now()->exe(now()->ctx, tid, out, cap);
}

int rights_environment(uint32_t tid, char *out)
{
	return now()->environment(now()->ctx, tid, out);
}

int rights_mapped(uint32_t tid, uint64_t start, uint64_t end)
{
	return now()->mapped(now()->ctx, tid, start, end);
}

int rights_file(uint32_t tid, const char *path)
{
	return now()->file(now()->ctx, tid, path);
}

int64_t rights_memory(uint32_t tid, const struct rights_range *r, size_t cnt, void *out)
{
	return now()->memory(now()->ctx, tid, r, cnt, out);
}

int rights_present(uint32_t tid, const uint64_t *at, size_t cnt, uint8_t *out)
{
	return now()->present(now()->ctx, tid, at, cnt, out);
}

int rights_threads(uint32_t tgid, enum rights_threads how, uint32_t from, struct rights_thread *out, size_t cap)
{
	return now()->threads(now()->ctx, tgid, how, from, out, cap);
}

int rights_place(enum rights_place what, int number)
{
	return now()->place(now()->ctx, what, number);
}

int rights_link(const struct rights_link *l)
{
	return now()->link(now()->ctx, l);
}

int rights_tracepoint(const char *name, int prog_fd)
{
	return now()->tracepoint(now()->ctx, name, prog_fd);
}

int rights_faults(int cpu, int prog_fd)
{
	return now()->faults(now()->ctx, cpu, prog_fd);
}

int rights_array(const char *name, uint32_t value_sz)
{
	return now()->array(now()->ctx, name, value_sz);
}

int rights_mappings(int cpu)
{
	return now()->mappings(now()->ctx, cpu);
}

int rights_ours(int fd)
{
	return now()->ours(now()->ctx, fd);
}

int rights_footprint(void)
{
	return now()->footprint(now()->ctx);
}
