/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder/live: the pipeline of a live recording, and the only file that knows all its parts. Ring records come in,
 * get catalog ids (process, stack), and go to the consumer in ring order.
 */
#ifndef ALYS_RECORDER_LIVE_H
#define ALYS_RECORDER_LIVE_H

#include <poll.h>
#include <signal.h>

#include "attach/attach.h"
#include "attach/stack_ends.h"
#include "attach/unwind_rows.h"
#include "attach/study.h"
#include "base/map.h"
#include "catalog/catalog.h"
#include "catalog/consumer.h"
#include "catalog/exactness.h"
#include "counting/entries.h"
#include "intake/intake.h"
#include "launch/holder.h"
#include "probe/probe.h"
#include "recorder/gcwatch.h"
#include "recorder/ledger.h"
#include "window/rate.h"
#include "recorder/reaper.h"
#include "recorder/stacks.h"
#include "erlang/erlang.h"
#include "recording/handles.h"
#include "resident/mappings.h"
#include "resident/resident.h"
#include "target/target.h"

struct windows;

/* Asked before data of one more file is loaded: is there memory for it? */
struct live_room {
	void *ctx;
	bool (*has)(void *ctx, const char *path); /* NULL: no limit */
};

struct live {
	struct handles h;
	struct intake *intake;
	struct holder holders[HOLDERS]; /* for launched programs, by the ring's number less one */
	bool dropping;                  /* the process at hand is dropped, but has not ended */
	struct tracker *tracker;        /* NULL until targets are added */
	struct study *study;            /* files being examined */
	struct rows rows;
	struct stack_ends stack_ends;
	struct erlang_names erlang;
	struct attach *attach;

	struct stacks stacks;
	struct {
		uint32_t tgid;
		struct stack_of of;
	} last; /* events mostly come in runs of one process */
	struct live_room room;
	bool abandoned; /* out of memory: what was recorded so far is kept */

	struct recorder_stats stats;
	struct ledger ledger;
	uint64_t started_ns, stopped_ns, last_tick_ns, last_maps_ns;
	struct reaper reaper;
	uint64_t read_ns;  /* everything sent before this time has been read */
	uint64_t heard_ns; /* all mappings made before this time are known */
	bool warned_silent;
	bool warned_closed;
	struct rate rate;
	struct windows *windows; /* NULL = probes are always attached, whatever they cost */
	bool full;               /* takes no new processes: memory limit */

	struct gc_watch gc;
	struct entries entries;                /* with --calls */
	struct mappings mappings;              /* with --maps */
	struct resident resident;              /* with --rss */
	uint64_t resident_start, resident_end; /* bytes, of all processes; the end: of those that are still there */
};

/*
 * Opens the parts of a recording; nothing is attached yet, and events go nowhere until h.out is set. select NULL: only
 * processes given to live_add. On error live_close must still be called.
 */
int live_open(struct live *l, const struct record_options *o, const struct select *select, struct err *err);
/* Detaches all probes; the consumer is the caller's. */
void live_close(struct live *l);

/* Starts (initially) or stops tracking of processes. */
int live_track(struct live *l, struct err *err);
void live_untrack(struct live *l);
/* The kernel treats every process as a target. */
bool live_takes_all(const struct live *l);
/* Adds a process with all its files; does not read the ring. */
int live_add(struct live *l, uint32_t tgid, struct err *err);
/* Drops a process that is not wanted any more, as if it had ended. */
void live_remove(struct live *l, uint32_t tgid);
/* False if no process of this tgid is traced, or it has ended and the tgid may have been reused. */
bool live_has(const struct live *l, uint32_t tgid);
/* A process that has ended without an exit record: its tgid has been reused. */
void live_end_reused(struct live *l, uint32_t tgid);

/* A process has ended, or is no longer recorded (live->dropping). */
void live_ends(struct live *l, const struct intake_who *who, uint64_t status);
/* To the consumer. */
void live_write_event(struct live *l, const struct event *e);
#define LIVE_TYPE_LEN 24
/* What was allocated at a stack, as far as the kernel or the allocator itself says it; NULL: neither does. room: for the text. */
const char *live_type_at(struct live *l, const struct intake_stack *s, const struct frame *probe, char room[LIVE_TYPE_LEN]);
/*
 * Of --rss and --maps: an event of memory that came, a range that went or moved (both of the subject's heap; 0 or -ENOMEM); a
 * program that has begun, was forked or has ended.
 */
int live_memory_comes(struct live *l, enum subject s, const struct event *e);
int live_memory_goes(struct live *l, const struct resident_range *g, const struct intake_range *r);
void live_memory_begins(struct live *l, struct proc_id proc, uint32_t tgid);
void live_memory_forks(struct live *l, struct proc_id parent, struct proc_id child);
void live_memory_ends(struct live *l, struct proc_id proc);
/* Forgets all processes, though they still run, as if none had been added. */
void live_forget_processes(struct live *l);
/* How exact the live set is. */
void live_exactness(struct live *l, struct exactness *out);
/* Updates the ledger. */
void live_publish(struct live *l, uint64_t now);
/* Changes the sampling interval and writes an event, unless it is already in force. */
void live_set_interval(struct live *l, uint64_t interval);
/* Runs until every process has ended, `signals` (a signalfd) is readable, or the time is over. */
int live_run(struct live *l, int signals, struct err *err);
/* Reads the ring and handles processes; returns how many ms the caller may wait, -1 = until something is readable. */
int live_step(struct live *l);
#define LIVE_FDS 4
/* To poll, anew each time: live_step is due when one is readable. Returns LIVE_FDS. */
size_t live_fds(const struct live *l, struct pollfd *out);
/* Reads the rest of the ring after the probes were stopped. */
void live_drain(struct live *l);
/* With --maps, when calls are recorded: what the processes have mapped already. */
void live_begin_mappings(struct live *l);
/* With --rss or --maps, at the end and now and then: what is there now; pages and mappings that are not there any more are gone. */
void live_settle(struct live *l, uint64_t now_ns);

/* For endless recordings (live_endless.c). */

/* The last stack id so far; new stacks that were refused; the sampling interval in force. */
uint32_t live_stacks(const struct live *l);
uint64_t live_refused_stacks(const struct live *l);
uint64_t live_interval(const struct live *l);
/* Takes no new stacks or processes while memory is short. */
void live_refuse_stacks(struct live *l, bool refuse);
void live_refuse_processes(struct live *l, bool refuse);
/*
 * Makes the kernel send all stacks again. Those that it sends are in use; the others have no more events once the ring has
 * been read, so that they may be forgotten, but not sooner.
 */
void live_recall_stacks(struct live *l);
bool live_recalls_stacks(const struct live *l);
bool live_is_recalled(const struct live *l, struct stack_id id);
/* Takes this catalog and forgets what is not in it. -ENOMEM: nothing has changed. */
int live_replace_catalog(struct live *l, struct catalog *kept);
/* A trace ends or begins while the recording goes on; account: the counts when it begins, borrowed. */
void live_end_file(struct live *l);
void live_begin_file(struct live *l, const struct catalog *account);
/* Events that the file which ended had no room for. */
void live_note_dropped(struct live *l, uint64_t events);

#endif
