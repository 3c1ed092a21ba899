/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model: replays events into live heaps and per-stack totals. Knows no files, names, clocks or
 * output. One thread. Never fails on strange input: an unknown free or a double allocation is a
 * counted fact. Memory grows with live blocks and distinct stacks, not with events. What costs time
 * or memory beyond the totals is kept only when heap_watch asks for it.
 *
 *   proc 7 | 0x1000 -> {id 1, 64 bytes, stack 3}      stack 3 | allocated 2 / 96 B, live 1 / 64 B
 *          | 0x1040 -> {id 2, 32 bytes, stack 3} X freed
 */
#ifndef ALYS_MODEL_H
#define ALYS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct heap;

/* What an event did, for sinks that print events. */
struct applied {
	uint64_t id;        /* of the allocation; a realloc keeps the id of the old block; 0 = unknown block */
	uint64_t prev_addr; /* realloc, free: the block before; 0 if unknown */
	uint64_t prev_size;
	double weight; /* allocations this event stands for; 1 when not sampled */
};

/*
 * The error of an estimate. Independently sampled blocks, each of weight w, add w * (w - 1) to the variance, times
 * size^2 for bytes (Horvitz and Thompson). Samples of windows are clustered: windows are assigned to groups, and the
 * differences between the groups' sums give the variance (random groups: Wolter, Introduction to Variance Estimation,
 * 2007, ch. 2). The square root is the standard error; +-1.96 of it is the 95 % interval, since Student's t and what few
 * samples leave unknown (rules.h) are already included.
 */
#define SPREAD_GROUPS 16

struct clusters {
	double sum;    /* estimated by time alone */
	double common; /* standard error that rows have in common: the cost of a probe is not known, or no window met the program */
	double var;    /* as if they were independent: the part that is of windows */
	float between
		[SPREAD_GROUPS]; /* in a heap the groups' sums, in a snapshot what they are off what others say: both can be added */
};

struct spread {
	double sum;    /* the estimate */
	double var;    /* as if all were independent */
	double placed; /* of heap-fulls: how many bytes there are is known, but not which rows they belong to */
	struct clusters windows;
};

void spread_add(struct spread *to, const struct spread *s);
/* Of the estimate, with what few samples add to it: see rules.h. */
double spread_var(const struct spread *s);
/* Without that: what the estimate adds to the variance of a sum. */
double spread_added(const struct spread *s);
/* The same for a sum over all rows, in which it does not matter where bytes belong. */
double spread_var_of_all(const struct spread *s);

/* What is estimated. */
enum estimate { ALLOC_CNT, LIVE_CNT, ALLOC_SZ, LIVE_SZ, ESTIMATES };

/* Of a row that has samples of windows: few recordings have them, and many rows. */
struct clusters_row {
	struct clusters of[ESTIMATES];
	bool by_cpu; /* its windows stand for CPU time */
};

/* Sums are of the real events; est_* are scaled to the whole when sampled, equal when not. */
struct totals {
	uint64_t alloc_cnt, alloc_sz; /* realloc counts as an allocation of its new size */
	uint64_t live_cnt, live_sz;
	double est_alloc_cnt, est_alloc_sz;
	double est_live_cnt, est_live_sz;
	double var[ESTIMATES]; /* of the estimates, as if blocks were hit independently: what they add to the variance of a sum */
	double placed;         /* variance of est_alloc_sz: see struct spread */
};

struct snapshot_row {
	struct stack_id stack;
	struct proc_id proc;
	/* with HEAP_BY_THREAD or HEAP_BY_SIZE that; with HEAP_BY_ERLANG_PROCESS what heap-fulls have as address; else 0 */
	uint64_t split;
	uint32_t no;           /* number of the heap's row: changes if its stack was forgotten and came again */
	uint32_t windows : 31; /* index among the clusters; 0: no samples of windows */
	bool young : 1;        /* of heap_snapshot_aged: what another row of its stack lacks */
	struct totals t;
};

/* What a heap keeps beyond totals. */
enum heap_watch {
	HEAP_PEAK = 1,       /* every row as it was when the whole heap was at its largest */
	HEAP_TIMELINE = 2,   /* live, allocated and freed bytes over time */
	HEAP_LIFETIMES = 4,  /* how long blocks lived, which were temporary, reallocations */
	HEAP_GROWTH = 8,     /* every row's live bytes over time, and the age of what is live */
	HEAP_BY_THREAD = 16, /* a row for each thread that allocated; not with HEAP_BY_SIZE */
	HEAP_BY_SIZE = 32,   /* a row for each size asked for */
	HEAP_LEFT = 64,      /* blocks of processes that have exited, for heap_snapshot_aged */
	/* a row for each Erlang process, see split; not with the other two of this kind */
	HEAP_BY_ERLANG_PROCESS = 128,
};

/* Ages and lifetimes are counted up to these limits; the last one is without limit. */
#define AGE_CNT 8
extern const uint64_t age_limits_ns[AGE_CNT]; /* 1 ms 10 ms 100 ms 1 s 10 s 1 min 10 min, none */

/* All numbers below are scaled to the whole when sampled. */
struct peak_row {
	double cnt, sz; /* live when the whole heap was at its largest */
	double var;     /* of sz, as if blocks were hit independently; so are the others below */
	uint64_t epoch; /* the heap's business */
};

struct lifetime_row {
	double temp_cnt, temp_sz; /* freed before the next allocation of the thread that freed them */
	double freed_cnt, freed_sz, freed_var;
	double life_ns;             /* sum over the freed */
	double lives[AGE_CNT];      /* freed blocks by lifetime */
	double moved_cnt, moved_sz; /* reallocations, and the bytes of the blocks that went in */
};

/* Slices double in width when time runs past the last one, so at least half of them are in use. */
#define GROWTH_SLICES 32
#define GROWTH_BANDS 6 /* slice 0, 1, 2-3, 4-7, 8-15, 16-31: what has been slice 0 after so many halvings */

struct growth_row {
	double live_sz[GROWTH_SLICES]; /* at the end of each slice */
	double gained_var;             /* of the bytes gained from the end of slice 0 on; of all when there is no other */
	double ages[AGE_CNT];          /* live blocks by age at the end (at their process' end) */
	uint64_t oldest_ns;            /* allocation time of the oldest, 0 = none */
	uint32_t n;                    /* slices filled */
	/* The heap's business: */
	uint32_t scale;
	double live_var[GROWTH_BANDS]; /* of live_sz at the end of a band's last slice */
	double kept_var[GROWTH_BANDS]; /* of blocks allocated in a band and live at the end */
};

/* Slices of a row that ended before the last are those of a shorter recording: none. */
void growth_row_add(struct growth_row *to, const struct growth_row *r);
/* Of a whole recording, as rules.h measures it. */
double growth_row_steadiness(const struct growth_row *r);
double growth_row_gained(const struct growth_row *r);
double growth_row_score(const struct growth_row *r);

struct time_slice {
	double alloc_cnt, alloc_sz, freed_cnt, freed_sz;
	double live_cnt, live_sz; /* at its end */
	double live_var;          /* of live_sz, with what few samples add */
	double peak_sz;           /* highest within it */
};

struct timeline {
	uint64_t first_ns, slice_ns;
	size_t n;
	struct time_slice *at;
};

/* Counted facts about the input. */
struct heap_facts {
	uint64_t events;         /* allocs + reallocs + frees applied */
	uint64_t unknown_free;   /* of blocks older than the recording, or whose allocation was lost */
	uint64_t inherited_free; /* in a forked process, of its parent's blocks, which stay the parent's; includes realloc */
	uint64_t replaced;       /* allocation at a live address: its free was missed */
	uint64_t stale_free;     /* free older than the live block at that address: ignored */
	uint64_t ended_live;     /* blocks live when their process exited or executed another program */
	uint64_t lost_frees;     /* non-zero: in-use is an upper bound */
	uint64_t lost_allocs;
	uint64_t thinned;       /* live blocks represented by others */
	uint64_t carried;       /* blocks that existed when the trace began: counted as live, not as allocated */
	uint64_t heapfuls;      /* EVENT_F_HEAPFUL */
	uint64_t heapful_cases; /* different ones: see heapfuls.h */
	uint64_t first_ns, last_ns;
	bool sampled;
};

/*
 * Immutable; rows sorted by stack id. peak, lifetimes and growth have one element a row and are NULL,
 * like timeline.at, when not watched. Caller owns, snapshot_free.
 */
struct snapshot {
	size_t n;
	struct snapshot_row *rows;
	struct totals all;
	struct clusters_row *clusters; /* of rows that have any, and at 0 of all; NULL: no windows */
	size_t clusters_cnt;
	struct heap_facts facts;
	struct peak_row *peak;
	double peak_cnt, peak_sz, peak_var; /* the whole heap at its largest; the variance with what few samples add */
	uint64_t peak_ns;
	struct lifetime_row *lifetimes;
	struct growth_row *growth;
	uint64_t growth_slice_ns;
	uint64_t young_ns; /* of heap_snapshot_aged; else UINT64_MAX */
	struct timeline timeline;
};

/* How a block's life ended. */
enum life_end {
	LIFE_FREED,
	LIFE_MOVED,  /* realloc took it away */
	LIFE_MISSED, /* its address was reused: the free was missed */
	LIFE_EXEC,   /* its process became another program */
	LIFE_EXIT,   /* alive when its process ended: still in use */
	LIFE_LEFT,   /* alive at the end of the recording */
};

struct life {
	uint64_t allocated_ns;
	uint64_t size;
	double cnt;     /* blocks it stands for */
	uint32_t tag;   /* what begun() said of it */
	bool temporary; /* freed before its thread's next allocation; with HEAP_LIFETIMES, never when sampled */
};

/* Called for every block that begins and ends, within heap_apply. */
struct heap_listener {
	uint32_t (*begun)(void *ctx, const struct life *life, const struct event *e);
	/* `e` is the event that ended it, NULL for LIFE_LEFT. */
	void (*ended)(void *ctx, const struct life *life, enum life_end how, const struct event *e);
	void *ctx;
};

struct heap *heap_new(void);
void heap_free(struct heap *h);
/* `what`: enum heap_watch, or-ed. Call before the first event. */
void heap_watch(struct heap *h, unsigned int what);
/* One listener, copied. Call before the first event. */
void heap_listen(struct heap *h, const struct heap_listener *l);
/* Reports the remaining blocks to the listener: LIFE_LEFT. */
void heap_report_left(const struct heap *h);
/* 0 or -ENOMEM. out may be NULL. */
int heap_apply(struct heap *h, const struct event *e, struct applied *out);
/* Current totals; borrowed. */
const struct totals *heap_totals(const struct heap *h);
/* The same including windows so far: slower. */
struct totals heap_estimate(const struct heap *h);
/*
 * Drops every live block with probability one half and lets the others stand for two, so that estimates stay unbiased.
 * coin gives random bits. Counted in `thinned`.
 */
void heap_thin(struct heap *h, uint64_t (*coin)(void *ctx), void *ctx);
/*
 * Merges rows whose stacks have no live blocks and saw no events since the last call into one row per process, without
 * a stack: totals stay, their sites are forgotten. Returns their number, or -ENOMEM. Does nothing with heap_watch.
 */
long heap_forget_idle(struct heap *h);
/* Is there a row of this stack? */
bool heap_knows(const struct heap *h, struct proc_id proc, struct stack_id stack);
/*
 * Every live block as the event that would have created it, oldest first: for formats made of events. A non-zero result
 * of fn stops and is returned.
 */
int heap_each_live(const struct heap *h, int (*fn)(void *ctx, const struct event *e), void *ctx);
/* The same in no particular order, without extra memory. */
int heap_visit_live(const struct heap *h, int (*fn)(void *ctx, const struct event *e), void *ctx);
/*
 * NULL when out of memory. A raw one has sums by time alone, from which others may be subtracted. heap_finish_windows then
 * scales the rows of the heap's processes to what their windows stand for and adds the error.
 */
struct snapshot *heap_snapshot(const struct heap *h);
struct snapshot *heap_snapshot_raw(const struct heap *h);
/*
 * The same of a heap with HEAP_GROWTH and HEAP_LEFT, with live blocks allocated at young_ns or later in rows of their own, at
 * the end. Growth is that up to young_ns.
 */
struct snapshot *heap_snapshot_aged(const struct heap *h, uint64_t young_ns);
/* 0 or -ENOMEM. */
int heap_finish_windows(const struct heap *h, struct snapshot *s);
/* Error of the process' rows that no window met, as a multiple of their estimate: see window/ratio.h. 0 or -ENOMEM. */
int heap_note_unmet(struct heap *h, struct proc_id proc, bool by_cpu, double unmet);
/* The error of a row's estimate; row n: that of the total. */
struct spread snapshot_spread(const struct snapshot *s, size_t row, enum estimate of);
double snapshot_var(const struct snapshot *s, size_t row, enum estimate of);
void snapshot_free(struct snapshot *s);
/* Appends another snapshot's rows, which leaves rows unsorted; facts stay as they are. 0 or -ENOMEM. */
int snapshot_append(struct snapshot *to, const struct snapshot *s);
/* Merges row `from` into row `to`. */
void snapshot_join(struct snapshot *s, size_t to, size_t from);

/*
 * Allocations of this size that one sample stands for: 1 / (1 - exp(-size / interval)), the inverse
 * of the chance that a Poisson process of one point per `interval` bytes hits the block.
 */
double sample_weight(uint64_t size, uint64_t interval);
/* The sampling interval at which a block of this size has this weight. */
uint64_t sample_interval(uint64_t size, double weight);
/*
 * Upper bound, with 95 % confidence, for a heap in which nothing was sampled: all points of a Poisson process, one per
 * `interval` bytes, miss B bytes with probability exp(-B / interval), which is 5 % at B = -ln(0.05) intervals, about 3:
 * the "rule of three" (Hanley and Lippman-Hand, JAMA 249, 1983, p. 1743). 0 if every call is recorded.
 */
double unsampled_below(uint64_t interval);
void totals_add(struct totals *sum, const struct totals *t);
double totals_estimate(const struct totals *t, enum estimate of);
/* Variance of an estimate without windows, with what few samples add to it. */
double totals_var(const struct totals *t, enum estimate of);
/* Number of allocations that an event stands for; a refill counts all its blocks, sampled by its span. */
double event_weight(const struct event *e);

#endif
