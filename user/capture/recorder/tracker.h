/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder/tracker: which processes a live recording takes in, and when. In: what the kernel tells of
 * processes that begin, change their program, map code and end. Out: calls of its ops: processes added to the recording
 * and looked at again, so that their files are attached. Reads /proc only of processes that changed.
 *
 * A process is looked at when it has been quiet for a moment: while a program starts it maps many files,
 * and one that ends before that has cost nothing. Its events do not wait: see tracker_take.
 */
#ifndef ALYS_RECORDER_TRACKER_H
#define ALYS_RECORDER_TRACKER_H

#include "base/err.h"
#include "event/event.h"
#include "recording/handles.h"

struct report;
struct tracker;

/* The recording, as the tracker knows it. */
struct tracker_ops {
	void *ctx;
	/* The process as it is recorded, 0 = it is not; has: nor has it ended; exe: its program, as in struct proc. */
	struct proc_id (*find)(void *ctx, uint32_t tgid);
	bool (*has)(void *ctx, uint32_t tgid);
	const char *(*exe)(void *ctx, uint32_t tgid);
	size_t (*count)(void *ctx);
	bool (*is_full)(void *ctx); /* takes no new ones: memory is short */
	/* Takes one in, with its files. ENOTSUP: it runs under a translator. */
	int (*add)(void *ctx, uint32_t tgid, struct err *err);
	/* The same with all that its parent has; 0: no. */
	struct proc_id (*fork)(void *ctx, uint32_t parent, uint32_t child, uint64_t time_ns);
	void (*drop)(void *ctx, uint32_t tgid);
	/* The kernel has taken it in by itself, or would. */
	void (*ignore)(void *ctx, uint32_t tgid);
	/* It has mapped other files, or may have: 0 = each of them. */
	void (*look)(void *ctx, struct proc_id proc);
	void (*report)(void *ctx, const struct report *report);
	/* Do processes share links? share may be said as long as there are none. */
	bool (*is_shared)(void *ctx);
	void (*share)(void *ctx, bool shared);
	void (*split)(void *ctx);
};

struct tracker_counts {
	uint64_t looked;  /* processes that were looked at */
	uint64_t unseen;  /* processes whose events came, but that had ended before they could be looked at */
	uint64_t refused; /* times that one was not taken in for want of memory */
	uint64_t late;    /* forked children that got links of their own, which takes a moment */
	uint64_t rescans; /* times that all of /proc was read, because the kernel's reports did not all fit */
};

/* Without a select: no other processes than those that the recording adds itself. Borrows h. NULL: no memory. */
struct tracker *tracker_new(const struct handles *h, const struct tracker_ops *ops);
void tracker_free(struct tracker *t);
/* The kernel is to tell of mappings and new programs; where it does not, processes are looked at now and then. */
void tracker_listen(struct tracker *t);
/* Readable when there are news; -1: this kernel tells none, and tracker_work looks for itself. */
int tracker_fd(const struct tracker *t);
/*
 * A shared link's probe is in every process that maps the file, and kills one that runs under a translator. Says so
 * when there is one; where one begins later, links are shared no more.
 */
bool tracker_may_share(struct tracker *t);
/* Takes in every wanted process that is there. */
int tracker_scan(struct tracker *t, struct err *err);
/* Takes in what the kernel has told up to now, and looks at nothing. */
void tracker_hear(struct tracker *t);
/* Looks at what is due; how many ms until it wants to be called again at most, -1 = only when there are news. */
int tracker_work(struct tracker *t);
/* A process is traced in spite of what select says, or not any more (then also its children). */
void tracker_pin(struct tracker *t, uint32_t tgid);
void tracker_ban(struct tracker *t, uint32_t tgid);
bool tracker_is_banned(const struct tracker *t, uint32_t tgid);
/* The recording itself: its processes and helpers. */
bool tracker_is_own(uint32_t tgid);

/* Notes from the ring, of any process. */
void tracker_on_fork(struct tracker *t, uint32_t parent, uint32_t child, uint64_t time_ns);
void tracker_on_exec(struct tracker *t, uint32_t tgid);
void tracker_on_exit(struct tracker *t, uint32_t tgid);
/* Events come of a process that is not in the recording: takes it in when it is wanted. 0: it is not. */
struct proc_id tracker_take(struct tracker *t, uint32_t tgid);
struct tracker_counts tracker_counts(const struct tracker *t);

#endif
