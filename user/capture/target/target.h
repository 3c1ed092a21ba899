/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target: the traced processes and their mappings. Translates addresses to module + ELF address immediately, because
 * mappings change later; keeps module files open from the start, because files are replaced and processes end. Facts go
 * into the catalog. Single-threaded.
 */
#ifndef ALYS_TARGET_H
#define ALYS_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "catalog/catalog.h"

struct target_table;

struct elf;

struct target_ops {
	void *ctx;
	const char *labels; /* attributes of every process, see identity.h; borrowed; NULL = none */
	uint32_t beside;    /* 1 << enum subject, or-ed: each process has a heap for each of these, too */
	/*
	 * Segments and build id of an open file, owned by the caller; NULL: none. If this op is missing, the file is
	 * read here.
	 */
	struct elf *(*outline)(void *ctx, int fd, const char *path);
	/* A file is mapped executable into the process for the first time. */
	void (*on_module)(void *ctx, const struct proc *p, const struct module *m, int fd);
	/* New facts are in the catalog. */
	void (*on_proc)(void *ctx, const struct proc *p);
	void (*on_mapping)(void *ctx, const struct mapping *map, const struct module *m);
	/* False: do not open new files, for lack of memory; NULL: no limit. */
	bool (*has_room)(void *ctx, const char *path);
	/* Reads all reports of mappings from the kernel so far, calling target_report; NULL: there are no reports. */
	void (*read_reports)(void *ctx);
	/* The process' list of executable mappings has changed: see target_mapping. */
	void (*on_maps)(void *ctx, const struct proc *p);
	/* It runs under a translator now: see translator.h. Its maps are not read. */
	void (*on_translated)(void *ctx, const struct proc *p, const char *name);
};

/* Borrows the catalog. */
struct target_table *target_new(struct catalog *c, const struct target_ops *ops);
void target_free(struct target_table *t);

/*
 * Adds a process: fails if it does not exist (ESRCH), is a kernel thread (EINVAL) or runs under a translator (ENOTSUP),
 * and if its pid was reused meanwhile. Does not read its maps yet.
 */
struct proc_id target_add(struct target_table *t, uint32_t tgid, struct proc_id parent, struct err *err);
/* Number of mapped files that could not be opened: they cannot be probed, unwound by rows or symbolized. */
size_t target_closed_files(const struct target_table *t);
/* "FILE of process N (and 2 more files) could not be opened: REASON", with advice if privileges are missing. */
void target_closed_text(const struct target_table *t, struct buf *out);
/* The current proc_id of a tgid, 0 if it is not traced. */
struct proc_id target_find(const struct target_table *t, uint32_t tgid);
/* The process' heap of a subject beside the first one; of other subjects, the process. */
struct proc_id target_heap(const struct target_table *t, struct proc_id id, enum subject s);
/* Is it, or a heap of it, the current one of its tgid? */
bool target_is_current(const struct target_table *t, const struct proc *p);
/* Is it the current one of its tgid, and not a heap of it? */
static inline bool target_is_process(const struct target_table *t, const struct proc *p)
{
	return target_find(t, p->tgid).n == p->id.n;
}

/* Number of traced processes; ended ones count until target_gone. */
size_t target_count(const struct target_table *t);
/* exec: a new proc_id with an empty map list. 0 if tgid was not traced or is gone already. */
struct proc_id target_exec(struct target_table *t, uint32_t tgid, uint64_t time_ns);
/* fork: the child's proc_id with a copy of its parent's map list. */
struct proc_id target_fork(struct target_table *t, uint32_t parent, uint32_t child);
void target_gone(struct target_table *t, uint32_t tgid);
/*
 * Switches to another catalog, which contains all facts about existing processes, under the same ids. Others are
 * forgotten, and files that it does not contain are closed.
 */
int target_move(struct target_table *t, struct catalog *c);
/* Also false for the proc_id from before an exec. */
bool target_alive(const struct target_table *t, struct proc_id id);

/*
 * Reads /proc/PID/maps again, to resolve what happens at that time (UINT64_MAX = now) and later: a mapping that
 * replaced another only after that time is left out. 0, -ESRCH if the process is gone, -ENOTSUP if it runs under a
 * translator.
 */
int target_read_maps(struct target_table *t, struct proc_id id, uint64_t until_ns, struct err *err);
/* The kernel reported a mapping; ignored for processes that are not traced. */
struct report;
void target_report(struct target_table *t, const struct report *report);
/* Mappings take effect in time: before resolving something later than target_due, call target_settle up to its time. */
uint64_t target_due(const struct target_table *t);
void target_settle(struct target_table *t, uint64_t until_ns);
/*
 * Applies all reports about one process up to that time, even if nothing was mapped there before: for an address in no
 * known mapping.
 */
void target_settle_one(struct target_table *t, struct proc_id id, uint64_t until_ns);
/* Changes when a mapping replaces another: the same addresses are different frames then. */
uint32_t target_epoch(const struct target_table *t, struct proc_id id);
/* The i-th executable mapping of the process, by address; NULL after the last one. */
const struct mapping *target_mapping(const struct target_table *t, struct proc_id id, size_t i);
/* False if no known mapping contains the address; then frame is the absolute address. */
bool target_resolve(struct target_table *t, struct proc_id id, uint64_t ip, struct frame *out);

/* The module's file, held open; -1 when it could not be opened. */
int target_module_fd(const struct target_table *t, struct module_id id);
/* For a module of generated code: its perf map (`perf-PID.map`), owned by the caller, or -1. */
int target_open_perf_map(const struct target_table *t, struct module_id id);
/* Seccomp mode of the process: 0 none, 1 strict, 2 filter. */
int target_seccomp(uint32_t tgid);

#endif
