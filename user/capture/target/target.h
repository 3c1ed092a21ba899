/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target: the traced processes and what is mapped into them. Turns addresses into module + address in
 * the file at once, because maps change later; keeps module files open from the first sight on,
 * because files are replaced and processes end. Facts go into the catalog. One thread.
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
	/* Segments and build id of an open file, now the caller's; NULL: it has none. Without this, it is looked for here. */
	struct elf *(*outline)(void *ctx, int fd, const char *path);
	/* A file is mapped executable into the process for the first time: proc, module, open file. */
	void (*on_module)(void *ctx, const struct proc *p, const struct module *m, int fd);
	/* New facts are in the catalog: for whoever keeps a record of them. */
	void (*on_proc)(void *ctx, const struct proc *p);
	void (*on_mapping)(void *ctx, const struct mapping *map, const struct module *m);
	/* False: new files are not opened, because of what would be known of them; NULL: there always is. */
	bool (*has_room)(void *ctx, const char *path);
	/* Takes in all that the kernel has told of mappings up to now, by target_report; NULL: it tells nothing. */
	void (*hear)(void *ctx);
	/* The process' list of executable mappings is another one than before: see target_mapping. */
	void (*on_maps)(void *ctx, const struct proc *p);
	/* It runs under a translator now: see translator.h. Its maps are not read. */
	void (*on_translated)(void *ctx, const struct proc *p, const char *name);
};

/* Borrows the catalog. */
struct target_table *target_new(struct catalog *c, const struct target_ops *ops);
void target_free(struct target_table *t);

/*
 * Takes a process in: refuses one that does not exist (ESRCH), is a kernel thread (EINVAL) or runs under a
 * translator (ENOTSUP), and one whose pid was handed on while we looked. Does not read its maps yet.
 */
struct proc_id target_add(struct target_table *t, uint32_t tgid, struct proc_id parent, struct err *err);
/* Files so far that were mapped but could not be opened: nothing of theirs can be probed, walked by rows or named. */
size_t target_closed_files(const struct target_table *t);
/* "FILE of process N (and 2 more files) could not be opened: REASON", and what to do where rights are missing. */
void target_closed_text(const struct target_table *t, struct buf *out);
/* The current incarnation of a tgid, 0 when it is not traced. */
struct proc_id target_find(const struct target_table *t, uint32_t tgid);
/* How many are traced now; one that ended counts until target_gone. */
size_t target_count(const struct target_table *t);
/* exec: a new proc_id, an empty map list. 0 when tgid was not traced or is gone already. */
struct proc_id target_exec(struct target_table *t, uint32_t tgid, uint64_t time_ns);
/* fork: the child's proc_id with a copy of its parent's map list. */
struct proc_id target_fork(struct target_table *t, uint32_t parent, uint32_t child);
void target_gone(struct target_table *t, uint32_t tgid);
/*
 * Goes on with another catalog, which has all of the old one that is about processes that are there, under
 * the same ids. Others are forgotten, and the files that it does not name are closed.
 */
int target_move(struct target_table *t, struct catalog *c);
/* False of what the process was before an exec, too. */
bool target_alive(const struct target_table *t, struct proc_id id);

/*
 * Reads /proc/PID/maps again, for what happens at that time (UINT64_MAX = now) and later: what came to lie where something else did only
 * afterwards is left out. 0, -ESRCH when the process is gone, -ENOTSUP when it runs under a translator.
 */
int target_read_maps(struct target_table *t, struct proc_id id, uint64_t until_ns, struct err *err);
/* The kernel told of a mapping; of processes that are not traced it is not kept. */
struct report;
void target_report(struct target_table *t, const struct report *report);
/* Mappings come to hold in time: before something that happened when target_due was over is resolved, it must be settled until then. */
uint64_t target_due(const struct target_table *t);
void target_settle(struct target_table *t, uint64_t until_ns);
/* All that was told of one process until then, although nothing lay there before: for an address that is in no known mapping. */
void target_settle_one(struct target_table *t, struct proc_id id, uint64_t until_ns);
/* Changes when something comes to lie where something else did: the same addresses are other frames then. */
uint32_t target_epoch(const struct target_table *t, struct proc_id id);
/* The i-th executable mapping of the process now, by address; NULL behind the last one. */
const struct mapping *target_mapping(const struct target_table *t, struct proc_id id, size_t i);
/* False when no known mapping holds the address; then frame is the plain address. */
bool target_resolve(struct target_table *t, struct proc_id id, uint64_t ip, struct frame *out);

/* The module's file, held open; -1 when it could not be opened. */
int target_module_fd(const struct target_table *t, struct module_id id);
/* For a module of code made while running: what names it (`perf-PID.map`), now the caller's, or -1. */
int target_open_perf_map(const struct target_table *t, struct module_id id);
/* Seccomp mode of the process: 0 none, 1 strict, 2 filter. */
int target_seccomp(uint32_t tgid);

#endif
