/* SPDX-License-Identifier: Apache-2.0 */
/*
 * governor/gauge: numbers that a process counts whether it is probed or not. What windows stand for is corrected by
 * them: bytes that its collector has handed out, or reclaimed in case of the Erlang VM, or its own CPU time, without
 * what probes took of it; or its page faults, as bytes, a page each.
 */
#ifndef ALYS_GOVERNOR_GAUGE_H
#define ALYS_GOVERNOR_GAUGE_H

#include "attach/attach.h"
#include "probe/price.h"
#include "recording/handles.h"

struct gauge {
	uint32_t tgid;
	bool by_cpu;
	bool faults;
	uint64_t bias; /* of the file that counts, in the process */
	uint64_t base; /* where its elements begin, 0 = not known yet */
	struct byte_counter counter;
};

struct reading {
	bool known;
	bool timed;    /* own_ns is known */
	double value;  /* bytes or ns so far; below 0 where probes seem to have taken more than all of the time */
	double own_ns; /* CPU time used by then, without what stops took; of a gauge of CPU time or of a byte counter */
	double traps;  /* with by_cpu: ns that stops at probes took so far, at their measured prices */
	bool probed;   /* probes have taken any time of it */
};

/* False where no file of the process counts bytes, as far as is known yet. */
bool gauge_bytes(const struct handles *h, const struct attach *attach, const struct proc *p, struct gauge *out);
struct gauge gauge_cpu(const struct proc *p);
struct gauge gauge_faults(const struct proc *p);
/* False where there is no such process. */
bool gauge_cpu_ns(uint32_t tgid, uint64_t *out);
/* A reading by CPU time, given what the process has used. Stops cost their warm prices. */
struct reading gauge_used(const struct gauge *g, const struct probe *probe, const struct stop_prices *price, uint64_t cpu_ns);
/*
 * ns that stops took beyond their warm prices between two readings, whose differences are `own` (value) and `traps`; 0 without by_cpu. A
 * program that runs longer between two stops leaves less of the kernel's code and data in the caches.
 */
double gauge_cold(const struct stop_prices *price, double own, double traps);
struct reading gauge_read(struct gauge *g, const struct probe *probe, const struct stop_prices *price);

#endif
