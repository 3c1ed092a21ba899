/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder/live: the pipeline of a live recording, which alone knows all of its parts. Ring records come in, get the ids
 * of the catalog (process, stack), and go into the trace file in the order of the ring.
 */
#ifndef ALYS_RECORDER_LIVE_H
#define ALYS_RECORDER_LIVE_H

#include <signal.h>

#include "attach/attach.h"
#include "attach/bottoms.h"
#include "attach/rows.h"
#include "attach/study.h"
#include "base/map.h"
#include "catalog/catalog.h"
#include "intake/intake.h"
#include "launch/holder.h"
#include "probe/probe.h"
#include "recorder/gcwatch.h"
#include "recorder/ledger.h"
#include "recorder/rate.h"
#include "recorder/reaper.h"
#include "recorder/stacks.h"
#include "recorder/stats.h"
#include "recording/handles.h"
#include "target/target.h"
#include "trace/trace.h"

struct live;
struct windows;

/* Who takes the events of a recording that has no file: a report about a running process. */
struct live_tap {
	void *ctx;
	int (*event)(void *ctx, const struct event *e);         /* -ENOMEM ends the recording */
	void (*tick)(void *ctx, struct live *l, uint64_t now);  /* some times a second */
	bool (*has_room)(void *ctx, const char *path);          /* for what is known of one more file; NULL: always */
	int (*end)(void *ctx, struct live *l, struct err *err); /* names are there, and the whole ledger */
};

struct live {
	struct handles h;
	struct intake *intake;
	struct holder holders[HOLDERS]; /* of programs that we started, by the number that they are called by, less one */
	bool dropping;                  /* the process that is being dealt with is let go, and has not ended */
	struct tracker *tracker;        /* NULL until targets are taken in */
	struct study *study;            /* files under examination */
	struct rows rows;
	struct bottoms bottoms;
	struct attach *attach;

	struct stacks stacks;
	struct {
		uint32_t tgid;
		struct stack_of of;
	} last;         /* most events come in runs of one process */
	bool finished;  /* a tap has what it wanted */
	bool abandoned; /* memory ran out: what was recorded is kept */

	struct recorder_stats stats;
	struct ledger ledger;
	uint64_t started_ns, stopped_ns, last_tick_ns, last_maps_ns;
	struct reaper reaper;
	uint64_t read_ns;  /* what was sent before then has been read */
	uint64_t heard_ns; /* what was mapped before then has been heard of */
	bool warned_silent;
	bool warned_closed;
	struct rate rate;
	struct windows *windows; /* NULL = probes are in all the time, whatever they cost */
	bool full;               /* takes no new processes: memory is short */

	struct gc_watch gc;
};

/*
 * Opens the parts of a recording, all but its file; nothing is probed yet. select NULL: only the processes
 * that live_add names. On an error live_close is still due.
 */
int live_open(struct live *l, const struct record_options *o, const struct select *select, struct err *err);
/* Takes all probes away; the writer is the caller's. */
void live_close(struct live *l);

/* Whom to take in is looked after from here on (a recording begins with that), or by nobody. */
int live_track(struct live *l, struct err *err);
void live_untrack(struct live *l);
/* The kernel takes every process for a target. */
bool live_takes_all(const struct live *l);
/* Takes a process in, with all its files; the ring is not read here. */
int live_add(struct live *l, uint32_t tgid, struct err *err);
/* Lets a process go that is not wanted any more: as if it had ended. */
void live_drop(struct live *l, uint32_t tgid);
/* False when no process of this number is traced, or it has ended and its number may be another's by now. */
bool live_has(const struct live *l, uint32_t tgid);
/* One that has ended is not waited for: its number is another's. */
void live_bury(struct live *l, uint32_t tgid);

/* Into the trace, and where the tap leads. */
void live_write_event(struct live *l, const struct event *e);
/* Of all processes nothing is known any more, though they are there: as if none had been taken in. */
void live_forget_processes(struct live *l);
/* What is to be thought of blocks in use, "" when no heap is a collector's. */
void live_liveness(struct live *l, char *out, size_t cap);
/* Brings the account up to date. */
void live_publish(struct live *l, uint64_t now);
/* Another rate of samples, for whatever reason: an event of its own, unless it is the one in force. */
void live_set_interval(struct live *l, uint64_t interval);
/* Until every process has ended, `signals` (a signalfd) has something, or the time is over. */
int live_run(struct live *l, int signals, struct err *err);
/* Reads the ring and looks after processes; how many ms that may wait at most, -1 = until there are news. */
int live_step(struct live *l);
/* Reads what is left in the ring after the probes were stopped. */
void live_drain(struct live *l);

#endif
