/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe/window: probes that are attached for a few milliseconds at a time. A probe whose program does nothing costs as
 * much as one that records, so between windows they are detached. A flag says when the programs count, because
 * attaching and detaching take milliseconds themselves. All but probe_window_price may be called from another thread
 * than the probe's.
 */
#ifndef ALYS_PROBE_WINDOW_H
#define ALYS_PROBE_WINDOW_H

#include "probe/price.h"
#include "probe/probe.h"

/* What stops at probes cost here. */
int probe_window_price(struct probe *p, struct stop_prices *out, struct err *err);
/* Number of attachments that are detached after each window. */
size_t probe_window_links(struct probe *p);
/*
 * Attaches them; calls count between the next two, with `interval` in force. Calls that return after the second one
 * count, too.
 */
void probe_window_attach(struct probe *p);
void probe_window_open(struct probe *p, uint64_t interval);
void probe_window_shut(struct probe *p, uint64_t interval);
/*
 * Detaches them and waits, but for those at collections, which linger: what the window sampled is followed until it is dead. They
 * leave when no sampled object is left in a collected heap, until the next probe_window_attach.
 */
void probe_window_detach(struct probe *p);
/* Now and then between windows: probes that stayed, since nothing hit them, are detached where one was hit: see probe/stayers. */
void probe_window_look(struct probe *p);
/* Is there one that lingers, and no collector whose calls are sampled all the time? */
bool probe_window_may_leave(struct probe *p);
void probe_window_leave(struct probe *p);

struct window_spent {
	uint64_t traps;          /* total, but for return probes */
	uint64_t kept;           /* of these, at probes that stay attached */
	uint64_t collections;    /* of these, at collections */
	uint64_t collections_ns; /* total that those took beside traps */
	uint64_t returns;        /* total */
	uint64_t sample_ns;      /* total that samples and collections took beside traps: measured at calls, assumed for pages */
	uint64_t stalled_ns;     /* total, by which attaching and detaching of tracepoints held up each processor */
	uint64_t came[2];        /* total of probes that were attached: by links of all programs, and of one */
};

int probe_window_spent(struct probe *p, struct window_spent *out);
/* What windows took of a process so far. 0 or -errno. */
int probe_window_taken(const struct probe *p, uint32_t tgid, struct alys_taken *out);

#endif
