/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder/reaper: processes that end, where more is to be known of it than that: which had their exit lost, which the
 * kernel ended for want of memory, and of which blocks and calls are left in the kernel's tables.
 */
#ifndef ALYS_RECORDER_REAPER_H
#define ALYS_RECORDER_REAPER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "event/event.h"

struct reaper {
	struct map ended;   /* tgid -> when: since the last sweep */
	struct map silent;  /* tgid -> when it was found ended: its last events may be in the ring yet */
	struct map victims; /* proc: the kernel is ending it for want of memory */
	uint64_t swept_ns;
};

/* It has ended, or is not looked at any more; whether it was known or not. */
void reaper_note(struct reaper *r, uint32_t tgid, uint64_t time_ns);
void reaper_note_victim(struct reaper *r, struct proc_id proc);
/* True once: it ended for want of memory. */
bool reaper_take_victim(struct reaper *r, struct proc_id proc);
/*
 * A process is gone, and no exit came. True when nothing of it is to come any more: all has been read that was in the ring
 * when it was found ended. read_ns: what was sent before then has been read.
 */
bool reaper_is_silent(struct reaper *r, uint32_t tgid, uint64_t read_ns, uint64_t now_ns);
/*
 * Most programs end without freeing all: now and then the kernel's tables are gone through. True when it is time to, with
 * those that ended since: map_free.
 */
bool reaper_sweep(struct reaper *r, uint64_t now_ns, struct map *ended);
/* All processes are forgotten. */
void reaper_reset(struct reaper *r);
void reaper_free(struct reaper *r);

#endif
