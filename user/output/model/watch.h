/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model/watch: what a heap tracks beyond totals, one file per kind; the heap reports every block that begins and ends,
 * and knows nothing else of them. Private to this module.
 */
#ifndef ALYS_MODEL_WATCH_H
#define ALYS_MODEL_WATCH_H

#include "base/map.h"
#include "base/slices.h"
#include "model/model.h"

#define HEAP_SPLITS (HEAP_BY_THREAD | HEAP_BY_SIZE | HEAP_BY_ERLANG_PROCESS)

/* A block that begins or ends. */
struct watched {
	uint32_t row;
	const struct totals *of_row, *all;
	uint64_t id;
	double cnt, sz, var; /* scaled, and the variance of sz */
	uint64_t allocated_ns;
	bool windowed;             /* sampled in a window: stands for blocks of all the time that the window stands for */
	const struct event *event; /* that began or ended it */
	enum life_end how;         /* of one that ended */
	bool temporary;
};

/*
 * Rows as they were at the peak, without copying the heap at each new peak: a row is saved when it first changes after
 * the last peak; until then its current state is that of the peak.
 */
struct peak {
	struct peak_row *rows;
	size_t rows_cnt, rows_cap;
	uint64_t epoch; /* counts new peaks, from 1 */
	double cnt, sz, var;
	uint64_t time_ns;
};

void peak_before(struct peak *p, const struct watched *w);
void peak_after(struct peak *p, const struct watched *w);
int peak_fill(const struct peak *p, const struct snapshot_row *heap_rows, struct snapshot *s, const uint32_t *order);

struct lifetimes {
	struct lifetime_row *rows;
	size_t rows_cnt, rows_cap;
	struct map threads; /* (proc, tid) -> id of the block allocated last */
};

void lifetimes_begun(struct lifetimes *l, const struct watched *w);
bool lifetimes_temporary(const struct lifetimes *l, const struct watched *w);
void lifetimes_ended(struct lifetimes *l, const struct watched *w);
int lifetimes_fill(const struct lifetimes *l, struct snapshot *s, const uint32_t *order);

struct growth {
	struct growth_row *rows;
	size_t rows_cnt, rows_cap;
	uint64_t first_ns;
	struct slices slices;
};

/* Brings a row up to the slice of `now`: it had `t` all the time since its last change. */
void growth_reach(struct growth *g, uint32_t row, const struct totals *t, uint64_t now);
/* A block that is live now, at the end of the recording or of its process; `var` is that of its bytes. */
void growth_note_live(struct growth *g, uint32_t row, const struct life *life, double var, uint64_t now);
int growth_copy(const struct growth *g, struct growth *out);
int growth_fill(const struct growth *g, struct snapshot *s, const uint32_t *order);
void growth_free(struct growth *g);

#define TIMELINE_SLICES 512

/* A window, and what it stands for: everything from `from` on. */
struct timing_window {
	uint64_t from, opened, closed;
};

struct timing {
	struct time_slice *at; /* TIMELINE_SLICES of them */
	uint64_t first_ns;
	struct slices slices;
	uint32_t n; /* slices reached */
	struct timing_window *windows;
	size_t windows_cnt, windows_cap;
};

/* 0 or -ENOMEM. */
int timing_add_window(struct timing *t, const struct event *e);
void timing_before(struct timing *t, const struct watched *w);
void timing_begun(struct timing *t, const struct watched *w);
void timing_ended(struct timing *t, const struct watched *w);
int timing_fill(const struct timing *t, const struct totals *all, uint64_t now, struct snapshot *s);

struct watch {
	unsigned int what; /* enum heap_watch */
	struct peak peak;
	struct lifetimes lifetimes;
	struct growth growth;
	struct timing timing;
};

void watch_begin(struct watch *w, unsigned int what);
int watch_add_row(struct watch *w, size_t rows_cnt);
void watch_before(struct watch *w, const struct watched *change);
void watch_begun(struct watch *w, const struct watched *change);
void watch_ended(struct watch *w, const struct watched *change);
int watch_fill(const struct watch *w, const struct snapshot_row *heap_rows, struct snapshot *s, const uint32_t *order);
void watch_free(struct watch *w);

#endif
