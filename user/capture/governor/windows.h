/* SPDX-License-Identifier: Apache-2.0 */
/*
 * governor/windows: keeps a sampled recording within --max-overhead. If probes cost too much to stay attached, a thread
 * attaches them for some milliseconds now and then; the modules window and probe decide when, and what such a window
 * stands for.
 */
#ifndef ALYS_GOVERNOR_WINDOWS_H
#define ALYS_GOVERNOR_WINDOWS_H

#include "attach/attach.h"
#include "base/buf.h"
#include "window/rate.h"
#include "recording/handles.h"

struct windows;

/* All borrowed. */
struct windows_config {
	double percent; /* of the programs' CPU time */
	const struct handles *h;
	const struct attach *attach;
	const struct rate *rate;
	const uint64_t *read_ns; /* everything sent before this time has been read */
	bool own_counters;       /* only allocators are recorded that may count bytes themselves */
	bool live;               /* the consumer reads while it runs: windows carry the count so far */
	void *ctx;
	void (*event)(void *ctx, const struct event *e); /* for a window */
	bool (*none_live)(void *ctx);                    /* no sampled object is left in any collected heap; asked in gaps */
};

struct windows_facts {
	double max, spent; /* shares of the programs' CPU time */
	double kept;       /* of these, at probes that stay attached between windows */
	double late;       /* spent over the last seconds */
	double covered;    /* share of the time */
	double trap_s;     /* cost of a stop at an entry, with cold caches */
	uint32_t windows;  /* so far */
};

/* Measures what stops at probes cost. NULL: err. */
struct windows *windows_new(const struct windows_config *c, struct err *err);
/* Call often, before reading the ring. False: do not read now, a window is open. */
bool windows_update(struct windows *w);
bool windows_is_open(const struct windows *w);
/* Readable when a window is over, or probes are detached: windows_update is due. -1: without windows. */
int windows_fd(const struct windows *w);
/* The process ends, having used that much CPU time. */
void windows_add_used(struct windows *w, uint32_t tgid, uint64_t cpu_ns);
/* It has ended, which is not written yet; its number may become another's. */
void windows_process_ends(struct windows *w, uint32_t tgid);
/* Gives a sample of a window its weight. NULL: this kernel has no windows, and the sample is of none. */
void windows_weigh(const struct windows *w, struct event *e);
/* Opens no window until resumed. Resume with no probe attached; processes are counted anew. */
void windows_pause(struct windows *w);
void windows_resume(struct windows *w);
/* Milliseconds until the next windows_update is due; -1: any. */
int windows_wait_ms(const struct windows *w);
/* Afterwards no window is open, and none opens. */
void windows_end(struct windows *w);
/* Reports nothing any more. */
void windows_free(struct windows *w);
/* Bytes, or ns of CPU time, of processes of which no window saw anything. */
double windows_missed(const struct windows *w, bool by_cpu);
/*
 * Correction factors of processes whose windows saw less than their share, by their collector's counter or by their CPU
 * time: "ID:FACTOR ...". The error of rows without samples of windows, as a multiple of their estimate, where it is not
 * 0: "ID:UNMET ...".
 */
void windows_factors(const struct windows *w, bool by_cpu, struct buf *factors, struct buf *unmet);
/* Coverage and cost as numbers; false: there are no windows. */
bool windows_facts(const struct windows *w, struct windows_facts *out);
/* Coverage and cost; a line without newline. */
void windows_describe(const struct windows *w, struct buf *out);

#endif
