/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe/stayers: of the probes that come with windows, those that nothing has hit so far stay between windows. To attach and to
 * detach a probe interrupts the program whether it is ever hit or not, and an allocator has many functions that few programs call.
 * Such a probe costs nothing as long as it is not hit; one that was hit comes and goes from then on, whoever hit it: a link of all
 * processes stops those that are no targets, too. Private to this module; the probe's lock is held.
 */
#ifndef ALYS_PROBE_STAYERS_H
#define ALYS_PROBE_STAYERS_H

#include "probe/state.h"

/* Between windows: probes of links that came and went twice stay. */
void stayers_come(struct probe *p);
/* Where one was hit, or everywhere: those of its link are detached, but not awaited. */
void stayers_go(struct probe *p, bool all);
/* The attachment ends: detaches them. */
void stayers_leave(struct attachment *a);
/* Puts sites that were hit first, and returns their number. */
uint32_t stayers_order(struct reattach *r, const uint8_t *met);

#endif
