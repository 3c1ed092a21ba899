/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder/tracker: which processes a live recording adds, and when. In: the kernel's reports of processes that start,
 * exec, map code and end. Out: calls of its ops, which add processes or examine their files again. Reads /proc only for
 * processes that changed.
 *
 * A new process is examined after it has been quiet for a moment: a starting program maps many files, and one that ends
 * before that costs nothing. Its events do not wait: see tracker_add_unknown.
 */
#ifndef ALYS_RECORDER_TRACKER_H
#define ALYS_RECORDER_TRACKER_H

#include "base/err.h"
#include "event/event.h"
#include "recording/handles.h"

struct report;
struct tracker;

/* The recording, as seen by the tracker. */
struct tracker_ops {
	void *ctx;
	/* The recorded process, 0 = not recorded. has: and not ended; exe: its executable, as in struct proc. */
	struct proc_id (*find)(void *ctx, uint32_t tgid);
	bool (*has)(void *ctx, uint32_t tgid);
	const char *(*exe)(void *ctx, uint32_t tgid);
	size_t (*count)(void *ctx);
	bool (*is_full)(void *ctx); /* takes no new processes: memory limit */
	/* Adds one, with its files. ENOTSUP: it runs under a translator. */
	int (*add)(void *ctx, uint32_t tgid, struct err *err);
	/* The same with a copy of its parent's state; 0: failed. */
	struct proc_id (*fork)(void *ctx, uint32_t parent, uint32_t child, uint64_t time_ns);
	void (*drop)(void *ctx, uint32_t tgid);
	/* Exclude it: the kernel has added it by itself, or would. */
	void (*ignore)(void *ctx, uint32_t tgid);
	/* It may have new mappings: 0 = each process. */
	void (*look)(void *ctx, struct proc_id proc);
	void (*report)(void *ctx, const struct report *report);
	/* Do processes share links? share may be called only before there are any. */
	bool (*is_shared)(void *ctx);
	void (*share)(void *ctx, bool shared);
	void (*split)(void *ctx);
};

struct tracker_counts {
	uint64_t looked;  /* processes examined */
	uint64_t unseen;  /* processes with events that ended before they could be examined */
	uint64_t refused; /* times that a process was refused for lack of memory */
	uint64_t late;    /* forked children that were given links of their own, which takes a moment */
	uint64_t rescans; /* full scans of /proc, because reports of the kernel were lost */
};

/* Without a select: only processes that the recording adds itself. Borrows h. NULL: out of memory. */
struct tracker *tracker_new(const struct handles *h, const struct tracker_ops *ops);
void tracker_free(struct tracker *t);
/* Asks the kernel for reports of mappings and execs; if it has none, processes are polled. */
void tracker_listen(struct tracker *t);
/* Readable when reports are waiting; -1: not supported, and tracker_work polls. */
int tracker_fd(const struct tracker *t);
/*
 * A shared link fires in every process that maps the file, and kills one that runs under a translator. Logs it if there
 * is one; if one appears later, links are no longer shared.
 */
bool tracker_may_share(struct tracker *t);
/* Adds every matching process that exists. */
int tracker_scan(struct tracker *t, struct err *err);
/* Reads the kernel's reports, but examines nothing. */
void tracker_read_reports(struct tracker *t);
/* Examines what is due; returns how many ms until the next call, -1 = when something is readable. */
int tracker_work(struct tracker *t);
/* A process is traced regardless of select, or not any more (nor are its children). */
void tracker_include(struct tracker *t, uint32_t tgid);
void tracker_exclude(struct tracker *t, uint32_t tgid);
bool tracker_is_excluded(const struct tracker *t, uint32_t tgid);
/* Our own processes and helpers. */
bool tracker_is_own(uint32_t tgid);

/* Notes from the ring, for any process. */
void tracker_on_fork(struct tracker *t, uint32_t parent, uint32_t child, uint64_t time_ns);
void tracker_on_exec(struct tracker *t, uint32_t tgid);
void tracker_on_exit(struct tracker *t, uint32_t tgid);
/* Events arrived from a process that is not in the recording: adds it if it matches. 0: it does not. */
struct proc_id tracker_add_unknown(struct tracker *t, uint32_t tgid);
struct tracker_counts tracker_counts(const struct tracker *t);

#endif
