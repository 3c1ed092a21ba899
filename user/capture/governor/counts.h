/* SPDX-License-Identifier: Apache-2.0 */
/*
 * governor/counts: what each process has counted since the recording began, by its gauges, and how much of it no window
 * saw. A process has up to two counts: of its CPU time, and of bytes if it has a counter for them; its heap of pages has one, of
 * page faults.
 */
#ifndef ALYS_GOVERNOR_COUNTS_H
#define ALYS_GOVERNOR_COUNTS_H

#include "base/buf.h"
#include "base/map.h"
#include "governor/gauge.h"
#include "window/pace.h"
#include "window/ratio.h"

/* A process, and the gauge by which its windows are corrected. */
struct proc_count {
	struct proc_id proc;
	struct gauge gauge;
	double base;                   /* counted before the recording */
	double all;                    /* since then, at the last look, or when it ended */
	struct pace pace;              /* of a byte counter */
	struct reading opened, closed; /* the same at start and end of the window */
	struct ratio ratio;
	bool probed; /* probes have taken any time of it */
	bool ended;  /* nothing is read of it any more */
	bool cut;    /* its count could not be read when the last window closed, nor since: mostly it has ended */
};

/* Zeroed, but for what is borrowed and given. */
struct counts {
	const struct handles *h;
	const struct attach *attach;
	const struct stop_prices *price;
	bool own_counters;        /* only allocators are recorded that may count bytes themselves */
	bool live;                /* ended processes are forgotten */
	uint64_t since_ns;        /* what processes had counted by then does not count */
	struct proc_count *procs; /* not changed during a turn */
	size_t procs_cnt, procs_cap;
	struct map places;  /* proc and kind of gauge -> place in procs, from 1 */
	struct map without; /* proc -> next time to look for a counter << 8 | number of attempts */
};

/* NULL: it has none. Valid until the next counts_update. */
struct proc_count *counts_of(const struct counts *s, struct proc_id proc, bool by_cpu);
/* Finds new counters and reads all of them. stretch: probes are attached all the time. */
void counts_update(struct counts *s, bool stretch);
/* At the ends of a window; on any thread. */
void counts_read(struct counts *s, bool closed);
/* What was read when a window closed is what was counted so far. */
void counts_note_closed(struct proc_count *c);
/*
 * What it counted in the window is not known, because it ended in it. The window's samples stand for themselves then, as if probes
 * had stayed attached from its opening on.
 */
void counts_cut(struct proc_count *c);
/* The process ends, having used that much CPU time. What its byte counter would show now is estimated by its pace. */
void counts_add_used(struct counts *s, const struct proc *p, uint64_t cpu_ns);
/* By CPU time a process counts only if it has met a probe, and if its own counter is not all that samples stand for. */
bool counts_is_probed(const struct counts *s, const struct proc_count *c);
/* Forgets all processes: they are counted anew from then on. */
void counts_begin(struct counts *s, uint64_t now);
void counts_free(struct counts *s);

/* Bytes, or ns of CPU time, of processes of which no window saw anything. */
double counts_missed(const struct counts *s, bool by_cpu);
/* See windows_factors. */
void counts_factors(const struct counts *s, bool by_cpu, struct buf *factors, struct buf *unmet);

#endif
