/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe/window: probes that are in for a few milliseconds at a time. A probe that is passed over by its program costs as
 * much as one that is not, so between windows they go away; when they begin to count is a word that the programs
 * look at, for the kernel takes some milliseconds to put them in and to take them out. All but probe_window_price may
 * be called beside the thread that has the probe.
 */
#ifndef ALYS_PROBE_WINDOW_H
#define ALYS_PROBE_WINDOW_H

#include "probe/probe.h"

/* Seconds that a stop at a probe costs here, see price.h. */
int probe_window_price(struct probe *p, double *seconds, struct err *err);
/* Attachments that come and go. */
size_t probe_window_links(struct probe *p);
/* Puts them in; calls count between the next two, with `interval` in force. Those after the second one that come back count, too. */
void probe_window_in(struct probe *p);
void probe_window_open(struct probe *p, uint64_t interval);
void probe_window_shut(struct probe *p, uint64_t interval);
/* Takes them out and waits until they are gone. */
void probe_window_out(struct probe *p);

struct window_spent {
	uint64_t traps, samples; /* so far */
};

int probe_window_spent(const struct probe *p, struct window_spent *out);

#endif
