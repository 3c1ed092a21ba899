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
	uint64_t id;        /* the allocation's; a realloc keeps the id of the block that went in; 0 = block never seen */
	uint64_t prev_addr; /* realloc, free: the block as it was; 0 when not known */
	uint64_t prev_size;
	double weight; /* allocations this event stands for; 1 when not sampled */
};

/*
 * How far an estimate is from the truth. Blocks hit independently, each of weight w, add w * (w - 1), times size^2 for bytes
 * (Horvitz and Thompson). Samples of windows come in clusters: windows are dealt out to groups, and how the groups' sums
 * differ tells the variance (random groups: Wolter, Introduction to Variance Estimation, 2007, ch. 2). Its root is the
 * standard error; 1.96 of it on each side are 95 %, for Student's t is in it already.
 */
#define SPREAD_GROUPS 16

struct clusters {
	double var; /* as if they were independent: the part that is of windows */
	float between
		[SPREAD_GROUPS]; /* in a heap the groups' sums, in a snapshot what they are off the mean: both can be added */
};

struct spread {
	double var; /* as if all were independent */
	struct clusters windows;
};

void spread_add(struct spread *to, const struct spread *s);
double spread_var(const struct spread *s);

/* What is estimated. */
enum estimate { ALLOC_CNT, LIVE_CNT, ALLOC_SZ, LIVE_SZ, ESTIMATES };

/* Of a row that has samples of windows: few recordings have them, and many rows. */
struct clusters_row {
	struct clusters of[ESTIMATES];
};

/* Sums are of the real events; est_* are scaled to the whole when sampled, equal when not. */
struct totals {
	uint64_t alloc_cnt, alloc_sz; /* realloc counts as an allocation of its new size */
	uint64_t live_cnt, live_sz;
	double est_alloc_cnt, est_alloc_sz;
	double est_live_cnt, est_live_sz;
	double var[ESTIMATES]; /* of the estimates, as if blocks were hit independently */
};

struct snapshot_row {
	struct stack_id stack;
	struct proc_id proc;
	uint64_t split;   /* thread or size with HEAP_BY_THREAD or HEAP_BY_SIZE, else 0 */
	uint32_t no;      /* of the heap's rows: another one when its stack was forgotten and came again */
	uint32_t windows; /* place among the clusters; 0: no samples of windows */
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

/* Slices double their width when time runs over the last one, so at least half of them are in use. */
#define GROWTH_SLICES 32
#define GROWTH_BANDS 6 /* slice 0, 1, 2-3, 4-7, 8-15, 16-31: what has been slice 0 after so many halvings */

struct growth_row {
	double live_sz[GROWTH_SLICES]; /* at the end of each slice */
	double gained_var;             /* of the bytes gained from the end of slice 0 on; of all when there is no other */
	double ages[AGE_CNT];          /* live blocks by age at the end (at their process' end) */
	uint64_t oldest_ns;            /* birth of the oldest of them, 0 = none */
	uint32_t n;                    /* slices filled */
	/* The heap's business: */
	uint32_t scale;
	double live_var[GROWTH_BANDS]; /* of live_sz at the end of a band's last slice */
	double kept_var[GROWTH_BANDS]; /* of what was born in a band and is live at the end */
};

/* Slices of a row that ended before the last are those of a shorter recording: none. */
void growth_row_add(struct growth_row *to, const struct growth_row *r);
/*
 * How steadily a row grew, from 0 to 1: of all pairs of moments, the share in which the later one
 * holds more, less that in which it holds less (Kendall's tau). A leak has about 1 however coarse its
 * steps; what was filled once and kept has 0.5 at most, and little when that was at the start.
 */
double growth_row_steadiness(const struct growth_row *r);
/* Bytes gained over the recording; below 0 when it shrank. */
double growth_row_gained(const struct growth_row *r);
/* What suspects are ranked by; 0 is none. */
double growth_row_score(const struct growth_row *r);

struct time_slice {
	double alloc_cnt, alloc_sz, freed_cnt, freed_sz;
	double live_cnt, live_sz; /* at its end */
	double live_var;          /* of live_sz */
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
	uint64_t unknown_free;   /* of blocks that were there before the recording, or whose allocation was lost */
	uint64_t inherited_free; /* by a forked process, of its parent's blocks, which stay the parent's; by realloc, too */
	uint64_t replaced;       /* allocation at an address that was live: its free was missed */
	uint64_t stale_free;     /* free older than the live block at that address: ignored */
	uint64_t ended_live;     /* blocks alive when their process exited or changed its program */
	uint64_t lost_frees;     /* when not 0, in-use is an upper bound */
	uint64_t lost_allocs;
	uint64_t thinned; /* live blocks that others stand for */
	uint64_t carried; /* blocks that were there when the trace began: among what is live, not among what is allocated */
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
	double peak_cnt, peak_sz, peak_var; /* the whole heap at its largest */
	uint64_t peak_ns;
	struct lifetime_row *lifetimes;
	struct growth_row *growth;
	uint64_t growth_slice_ns;
	struct timeline timeline;
};

/* How a block's life ended. */
enum life_end {
	LIFE_FREED,
	LIFE_MOVED,  /* realloc took it away */
	LIFE_MISSED, /* its address was handed out again: the free was not seen */
	LIFE_EXEC,   /* its process became another program */
	LIFE_EXIT,   /* alive when its process ended: still in use */
	LIFE_LEFT,   /* alive at the end of the recording */
};

struct life {
	uint64_t born_ns;
	uint64_t size;
	double cnt;     /* blocks it stands for */
	uint32_t tag;   /* what begun() said of it */
	bool temporary; /* freed before the next allocation of its thread; with HEAP_LIFETIMES, never when sampled */
};

/* Is told of every block that begins and ends, within heap_apply. */
struct heap_listener {
	uint32_t (*begun)(void *ctx, const struct life *life, const struct event *e);
	/* `e` is the event that ended it, NULL for LIFE_LEFT. */
	void (*ended)(void *ctx, const struct life *life, enum life_end how, const struct event *e);
	void *ctx;
};

struct heap *heap_new(void);
void heap_free(struct heap *h);
/* `what`: enum heap_watch, or-ed. Before the first event. */
void heap_watch(struct heap *h, unsigned int what);
/* One listener, copied. Before the first event. */
void heap_listen(struct heap *h, const struct heap_listener *l);
/* Tells the listener of the blocks that are left: LIFE_LEFT. */
void heap_tell_left(const struct heap *h);
/* 0 or -ENOMEM. out may be NULL. */
int heap_apply(struct heap *h, const struct event *e, struct applied *out);
/* Everything together, as it is now; borrowed. */
const struct totals *heap_totals(const struct heap *h);
/* How far an estimate of it may be from the truth, as a variance. */
double heap_var(const struct heap *h, enum estimate of);
/*
 * Forgets every live block with a chance of one half and lets the others stand for two, so that what is
 * estimated stays right on average. coin gives random bits. What is forgotten is counted in thinned.
 */
void heap_thin(struct heap *h, uint64_t (*coin)(void *ctx), void *ctx);
/*
 * Rows of stacks without live blocks to which nothing came since the last call become one row of their process,
 * without a stack: what was allocated stays, where is forgotten. How many; or -ENOMEM. Nothing with heap_watch.
 */
long heap_forget_idle(struct heap *h);
/* Is there a row of this stack? */
bool heap_knows(const struct heap *h, struct proc_id proc, struct stack_id stack);
/*
 * Every live block as the event that would have made it, oldest first: for formats that are made of events. fn
 * returns non-zero to stop with that value.
 */
int heap_each_live(const struct heap *h, int (*fn)(void *ctx, const struct event *e), void *ctx);
/* The same in no order, and without memory for one. */
int heap_visit_live(const struct heap *h, int (*fn)(void *ctx, const struct event *e), void *ctx);
struct snapshot *heap_snapshot(const struct heap *h); /* NULL when memory is out */
/* How far a row's estimate may be from the truth; row n: that of all. */
struct spread snapshot_spread(const struct snapshot *s, size_t row, enum estimate of);
double snapshot_var(const struct snapshot *s, size_t row, enum estimate of);
void snapshot_free(struct snapshot *s);
/* Rows of another one behind its own, which are not in order then; facts stay as they are. 0 or -ENOMEM. */
int snapshot_append(struct snapshot *to, const struct snapshot *s);
/* A row into another one, in whose place it is from then on. */
void snapshot_join(struct snapshot *s, size_t to, size_t from);

/*
 * Allocations of this size that one sample stands for: 1 / (1 - exp(-size / interval)), the inverse
 * of the chance that a Poisson process of one point per `interval` bytes hits the block.
 */
double sample_weight(uint64_t size, uint64_t interval);
/* Bytes between samples with which a block of this size has this weight. */
uint64_t sample_interval(uint64_t size, double weight);
/*
 * Bytes that a heap in which nothing was sampled is below, with 95 % confidence: points of a Poisson process, one per
 * `interval` bytes, all miss B bytes with the chance exp(-B / interval), which is 5 % at B = -ln(0.05) intervals, about 3:
 * the "rule of three" (Hanley and Lippman-Hand, JAMA 249, 1983, p. 1743). 0 when every call is recorded.
 */
double unsampled_below(uint64_t interval);
void totals_add(struct totals *sum, const struct totals *t);
/* Allocations that an event stands for: all blocks of a refill, which was sampled by its span. */
double event_weight(const struct event *e);

#endif
