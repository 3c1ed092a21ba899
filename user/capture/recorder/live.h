/*
 * recorder/live: the river of a live recording. Ring records come in, get the ids of the catalog
 * (process, stack), and go into the trace file in the order of the ring.
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
#include "liveness/liveness.h"
#include "probe/probe.h"
#include "recorder/rate.h"
#include "recording/handles.h"
#include "target/target.h"
#include "trace/trace.h"

struct live;

/* Who takes the events of a recording that has no file: a report about a running process. */
struct live_tap {
	void *ctx;
	int (*event)(void *ctx, const struct event *e); /* -ENOMEM ends the recording */
	void (*tick)(void *ctx, struct live *l, uint64_t now); /* some times a second */
	bool (*has_room)(void *ctx, const char *path); /* for what is known of one more file; NULL: always */
	int (*end)(void *ctx, struct live *l, struct err *err); /* names are there, and the whole ledger */
};

struct live {
	struct handles h;
	struct intake *intake;
	struct holder holders[HOLDERS]; /* of programs that we started, by the number that they are called by, less one */
	bool dropping;         /* the process that is being dealt with is let go, and has not ended */
	struct roster *roster; /* NULL until targets are taken in */
	struct study *study; /* files under examination */
	struct rows rows;
	struct bottoms bottoms;
	struct attach *attach;
	bool all; /* the kernel takes every process for a target */

	struct map stacks; /* hash -> the process' epoch << 32 | stack_id */
	uint32_t stacks_cnt;
	bool forgets;        /* stacks are thrown away now and then, see session/compact */
	struct map recalled; /* then: those that were sent again since, by id */
	struct {
		uint32_t tgid, epoch; /* see target_epoch */
		struct proc_id id;
	} last; /* most events come in runs of one process */
	bool finished;  /* a tap has what it wanted */
	bool abandoned; /* memory ran out: what was recorded is kept */

	/* Of a file that began within the recording; see session/traces. */
	const struct catalog *account; /* what had been counted when it began, NULL = nothing */
	int64_t under_way;             /* hits of which no outcome had been counted by then */
	uint64_t dropped_before;       /* events that files before it had no room for */

	uint64_t written[4];      /* events handed to the writer, by kind */
	uint64_t foreign;         /* records of processes that are not known any more */
	uint64_t unknown_stacks;  /* events whose stack record was lost */
	uint64_t unresolved_ips;
	uint64_t stack_ends[STACK_END_CNT];
	uint64_t reported_loss[4]; /* lost events by kind, as told to the trace so far */
	uint64_t started_ns, stopped_ns, last_tick_ns, last_maps_ns, last_sweep_ns;
	struct map ended; /* tgid -> when: blocks and calls of theirs are in the kernel's tables */
	struct map silent; /* tgid -> when it was found ended: its last events may be in the ring yet */
	struct map victims; /* processes that the kernel is ending for want of memory */
	uint64_t read_ns; /* what was sent before then has been read */
	uint64_t heard_ns; /* what was mapped before then has been heard of */
	bool warned_silent;
	bool warned_closed;
	struct rate rate;
	bool refusing;           /* takes no new stacks: memory is short */
	bool full;               /* takes no new processes, either */
	uint64_t refused_stacks; /* stacks that were not taken */

	struct marks *marks;      /* NULL until a collector is found, like liveness */
	struct liveness *liveness;
	char unseen[400];         /* why no collections at all can be seen, "" = some can */
	uint64_t gc_no_room;      /* collections of processes that could not be followed, when last looked */
};

/*
 * Opens the rooms of a recording, all but its file; nothing is probed yet. select NULL: only the processes
 * that live_add names. On an error live_close is still due.
 */
int live_open(struct live *l, const struct record_options *o, const struct select *select, struct err *err);
/* Takes all probes away; the writer is the caller's. */
void live_close(struct live *l);

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
/* The heap is of another process number than before, or gone, or not looked at any more. */
void live_heap_gone(struct live *l, struct proc_id proc, uint32_t tgid);
/* What is to be thought of blocks in use, "" when no heap is a collector's. */
void live_liveness(struct live *l, char *out, size_t cap);
/* Another rate of samples, for whatever reason: an event of its own, unless it is the one in force. */
void live_set_interval(struct live *l, uint64_t interval);
/* Until every process has ended, `signals` (a signalfd) has something, or the time is over. */
int live_run(struct live *l, int signals, struct err *err);
/* Reads the ring and looks after processes; how many ms that may wait at most, -1 = until there are news. */
int live_step(struct live *l);
/* Reads what is left in the ring after the probes were stopped. */
void live_drain(struct live *l);

#endif
