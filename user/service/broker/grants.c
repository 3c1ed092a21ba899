/* SPDX-License-Identifier: Apache-2.0 */
/* broker/grants: see grants.h. */
#include "broker/grants.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/thread_stacks.h"
#include "base/clock.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "kernel/chunks.h"
#include "probe/link.h"
#include "target/proc.h"

#define FRESH_NS 200000000ull /* how long a process's mappings are cached */
#define SEGMENTS_MAX 64

/* --- mappings of the process of the last request -------------------------------------------------- */

struct region {
	uint64_t start, end, dev, ino;
	bool exec, data; /* data: readable, provided its file is one that the process runs */
};

static struct {
	uint32_t tid;
	uint64_t looked_ns;
	struct region *regions;
	size_t regions_cnt, regions_cap;
} view;

static struct {
	uint32_t target, reader; /* 0 = any */
	bool stops;
	uint32_t tid; /* last one accepted, at looked_ns */
	uint64_t looked_ns;
} narrow;

void grants_narrow(uint32_t target, uint32_t reader, bool stops)
{
	if (target != narrow.target || reader != narrow.reader)
		narrow.tid = view.tid = 0;
	narrow.target = target;
	narrow.reader = reader;
	narrow.stops = stops;
}

int grants_cover(uint32_t tid, struct err *why)
{
	uint64_t now = now_ns();
	if (!narrow.target || (tid == narrow.tid && now - narrow.looked_ns < FRESH_NS))
		return 0;
	long tgid = proc_status_value(tid, "Tgid");
	if (tgid < 0)
		return -ESRCH;
	if (tgid != (long)narrow.target && proc_status_value(tid, "PPid") != (long)narrow.reader)
		return err_set(why, EPERM, "request refused: process %u is not the one that was named", tid);
	narrow.tid = tid;
	narrow.looked_ns = now;
	return 0;
}

static int take_line(void *ctx, const struct map_line *l)
{
	const uint64_t *stack_end = ctx;
	bool stack = !strcmp(l->path, "[stack]");
	bool data = l->readable && !l->shared && (l->writable || l->ino) && (!stack || *stack_end > l->start);
	struct region *r = VEC_PUSH(&view, regions);
	if (!r)
		return -ENOMEM;
	*r =
		(struct region){ l->start, stack && *stack_end < l->end && data ? *stack_end : l->end, l->dev, l->ino, l->exec,
				 data };
	return 0;
}

/* A process without mappings is exiting or in the middle of an exec: -ESRCH. */
static int look(uint32_t tid)
{
	uint64_t now = now_ns();
	struct err err = { 0 };
	if (view.tid == tid && now - view.looked_ns < FRESH_NS)
		return 0;
	view.regions_cnt = 0;
	uint64_t stack_end = narrow.target ? thread_stacks_main_end(narrow.target) : 0;
	int rc = proc_each_map(tid, take_line, &stack_end, &err);
	if (!rc && !view.regions_cnt)
		rc = -ESRCH;
	view.tid = rc ? 0 : tid;
	view.looked_ns = now;
	return rc;
}

/*
 * Some file systems (btrfs, overlayfs) report another device in stat than in /proc/PID/maps. There, inode and start address of
 * the mapping identify the file instead; these are the two special values of that address.
 */
#define NOWHERE 0
#define ANYWHERE UINT64_MAX

static bool is_run(const struct stat *st, uint64_t at)
{
	for (size_t i = 0; i < view.regions_cnt; i++) {
		const struct region *r = &view.regions[i];
		if (r->exec && r->ino == st->st_ino && (r->dev == st->st_dev || r->start == at || at == ANYWHERE))
			return true;
	}
	return false;
}

/*
 * 0; -ESRCH if the process has exited; -ESTALE if it does not map the file executable, or no longer does: it may have unmapped
 * the file or executed another program since the collector looked. A cached list is read again before a refusal.
 */
static int must_run(uint32_t tid, const struct stat *st, uint64_t at)
{
	if (!look(tid) && is_run(st, at))
		return 0;
	view.tid = 0;
	int rc = look(tid);
	return rc ? rc : is_run(st, at) ? 0 : -ESTALE;
}

static bool is_run_file(const struct region *of)
{
	const struct stat st = { .st_dev = of->dev, .st_ino = of->ino };
	return is_run(&st, NOWHERE);
}

/* --- files ---------------------------------------------------------------------------------------- */

static bool read_head(int fd, Elf64_Ehdr *h)
{
	return pread(fd, h, sizeof(*h), 0) == sizeof(*h) && !memcmp(h->e_ident, ELFMAG, SELFMAG) &&
	       (h->e_type == ET_EXEC || h->e_type == ET_DYN);
}

/* Takes ownership of fd; returns it if the file may be handed to the collector. */
static int check_file(uint32_t tid, int fd, uint64_t at, struct err *why)
{
	struct stat st;
	Elf64_Ehdr head;
	if (fd < 0)
		return fd;
	int rc = fstat(fd, &st) ? -errno : 0;
	if (!rc && !read_head(fd, &head))
		rc = err_set(why, ENOEXEC, "a file of process %u is refused: not an ELF program or library", tid);
	if (!rc)
		rc = must_run(tid, &st, at);
	if (rc == -ESTALE)
		err_set(why, ESTALE, "a file is refused: process %u has not mapped it executable", tid);
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

int grant_mapped(uint32_t tid, uint64_t start, uint64_t end, struct err *why)
{
	return check_file(tid, rights_own.mapped(NULL, tid, start, end), start, why);
}

int grant_file(uint32_t tid, const char *path, struct err *why)
{
	return check_file(tid, rights_own.file(NULL, tid, path), NOWHERE, why);
}

/* --- memory --------------------------------------------------------------------------------------- */

/* Index of the last region that begins at or below addr, or 0. Regions are sorted by address. */
static size_t region_at(uint64_t addr)
{
	size_t lo = SORTED_UNTIL(view.regions_cnt, i, view.regions[i].start <= addr);
	return lo ? lo - 1 : 0;
}

static bool is_data(const struct rights_range *r)
{
	uint64_t at = r->addr, end = r->addr + r->n;
	for (size_t i = region_at(at); end >= at && i < view.regions_cnt && at < end; i++) {
		const struct region *v = &view.regions[i];
		if (v->start <= at && at < v->end && v->data && (!v->ino || is_run_file(v)))
			at = v->end;
	}
	return end >= r->addr && at >= end;
}

static size_t cnt_fitting(const struct rights_range *r, size_t cnt, size_t room)
{
	size_t n = 0;
	for (; n < cnt && r[n].n <= room; n++)
		room -= r[n].n;
	return n;
}

static size_t cnt_data(const struct rights_range *r, size_t cnt)
{
	size_t n = 0;
	while (n < cnt && is_data(&r[n]))
		n++;
	return n;
}

int64_t grant_memory(uint32_t tid, const struct rights_range *r, size_t cnt, void *out, size_t room)
{
	size_t wanted = cnt_fitting(r, cnt, room), n;
	int rc = look(tid);
	n = rc ? 0 : cnt_data(r, wanted);
	if (n < wanted) {
		view.tid = 0; /* may have been mapped since the list was read */
		rc = look(tid);
		n = rc ? 0 : cnt_data(r, wanted);
	}
	return rc ? rc : n ? rights_own.memory(NULL, tid, r, n, out) : -EFAULT;
}

int grant_threads(uint32_t tgid, enum rights_threads how, uint32_t from, struct rights_thread *out, size_t cap, struct err *why)
{
	bool about = narrow.target && (tgid == narrow.target || how == THREADS_THAW);
	if (!about || how > THREADS_THAW || (how == THREADS_FREEZE && !narrow.stops))
		return err_set(why, EPERM, "inspecting or stopping threads refused: not requested by the user");
	view.tid = 0;
	return rights_own.threads(NULL, tgid, how, from, out, cap);
}

/* --- probes --------------------------------------------------------------------------------------- */

static bool is_code(const Elf64_Phdr *segments, size_t cnt, uint64_t offset)
{
	for (size_t i = 0; i < cnt; i++) {
		const Elf64_Phdr *s = &segments[i];
		if (s->p_type == PT_LOAD && s->p_flags & PF_X && offset >= s->p_offset && offset - s->p_offset < s->p_filesz)
			return true;
	}
	return false;
}

/* What the kernel counts tracers in must be the file's own writable data. */
static bool is_counter(const Elf64_Phdr *segments, size_t cnt, uint64_t offset)
{
	for (size_t i = 0; i < cnt; i++) {
		const Elf64_Phdr *s = &segments[i];
		uint64_t into = offset - s->p_offset;
		if (s->p_type == PT_LOAD && (s->p_flags & (PF_W | PF_X)) == PF_W && into < s->p_filesz &&
		    s->p_filesz - into >= sizeof(uint16_t))
			return true;
	}
	return false;
}

static bool are_code(const struct rights_link *l)
{
	Elf64_Phdr segments[SEGMENTS_MAX];
	Elf64_Ehdr head;
	if (!read_head(l->file_fd, &head) || head.e_phnum > SEGMENTS_MAX || head.e_phentsize != sizeof(*segments))
		return false;
	ssize_t n = head.e_phnum * (ssize_t)sizeof(*segments);
	bool all = pread(l->file_fd, segments, (size_t)n, (off_t)head.e_phoff) == n;
	for (uint32_t i = 0; all && i < l->cnt; i++)
		all = is_code(segments, head.e_phnum, l->offsets[i]) &&
		      (!l->counters || !l->counters[i] || is_counter(segments, head.e_phnum, l->counters[i]));
	return all;
}

int grant_link(const struct rights_link *l, struct err *why)
{
	struct stat st;
	bool known = (l->attach_type == ATTACH_UPROBE_MULTI || l->attach_type == ATTACH_UPROBE_SESSION) &&
		     l->flags <= MULTI_RETURN;
	if (!known || !l->cnt)
		return err_set(why, EINVAL, "link refused: not a probe");
	if (fstat(l->file_fd, &st) || !S_ISREG(st.st_mode) || !are_code(l))
		return err_set(why, EACCES, "probes refused: not on code of an ELF file, or counted outside its data");
	int rc = l->tgid ? must_run(l->tgid, &st, ANYWHERE) : 0;
	if (rc == -ESTALE)
		return err_set(why, ESTALE, "probes refused: process %u does not run this file", l->tgid);
	rc = rc ?: rights_own.link(NULL, l);
	/* If the process has exited meanwhile, the kernel's error varies: make it -ESRCH. */
	if (rc < 0 && l->tgid) {
		view.tid = 0;
		rc = look(l->tgid) == -ESRCH ? -ESRCH : rc;
	}
	return rc;
}

int grant_tracepoint(const char *name, int prog_fd, bool pages, struct err *why)
{
	static const char *const known[] = {
		"sched_process_fork",
		"sched_process_exec",
		"sched_process_exit",
		"mark_victim",
		/* Of pages and mappings. */
		"page_fault_user",
		"page_fault_kernel",
		"rss_stat",
		"vm_unmapped_area",
		"sys_enter",
		"sys_exit",
	};
	size_t cnt = pages ? sizeof(known) / sizeof(known[0]) : 4;
	for (size_t i = 0; i < cnt; i++) {
		if (!strcmp(name, known[i]))
			return rights_own.tracepoint(NULL, name, prog_fd);
	}
	return err_set(why, EACCES, "tracepoint refused: not one of those for %s",
		       pages ? "processes, pages and mappings" : "process start and end");
}

int grant_faults(int cpu, int prog_fd, bool pages, struct err *why)
{
	if (!pages)
		return err_set(why, EACCES, "page faults refused: no pages are recorded");
	return rights_own.faults(NULL, cpu, prog_fd);
}

int grant_array(const char *name, uint32_t value_sz, struct err *why)
{
	if (strcmp(name, CHUNK_NAME) || value_sz != sizeof(struct alys_chunk))
		return err_set(why, EACCES, "map refused: not a chunk of unwind rows");
	return rights_own.array(NULL, name, value_sz);
}
