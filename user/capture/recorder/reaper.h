/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder/reaper: ended processes that need more than an exit event: whose exit record was lost, which were killed by
 * the OOM killer, and whose blocks and calls are still in the kernel's tables.
 */
#ifndef ALYS_RECORDER_REAPER_H
#define ALYS_RECORDER_REAPER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "event/event.h"

struct reaper {
	struct map ended;   /* tgid -> time: since the last sweep */
	struct map silent;  /* tgid -> time when it was found gone: its last events may still be in the ring */
	struct map victims; /* proc: the OOM killer has chosen it */
	uint64_t swept_ns;
};

/* It has ended, or is no longer traced; known or unknown. */
void reaper_note(struct reaper *r, uint32_t tgid, uint64_t time_ns);
void reaper_note_victim(struct reaper *r, struct proc_id proc);
/* True once: the OOM killer ended it. */
bool reaper_take_victim(struct reaper *r, struct proc_id proc);
/*
 * A process is gone, and no exit record came. True once the ring has been read up to the time when it was found gone.
 * read_ns: everything sent before this time has been read.
 */
bool reaper_is_silent(struct reaper *r, uint32_t tgid, uint64_t read_ns, uint64_t now_ns);
/*
 * Most programs exit without freeing everything, so the kernel's tables are swept now and then. True when it is time;
 * returns those that ended since the last sweep: map_free.
 */
bool reaper_sweep(struct reaper *r, uint64_t now_ns, struct map *ended);
/* Forgets all processes. */
void reaper_reset(struct reaper *r);
void reaper_free(struct reaper *r);

#endif
