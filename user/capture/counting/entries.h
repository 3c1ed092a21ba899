/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counting/entries: the counts of chosen functions (--calls), from the kernel's table to catalog and consumer, by
 * process and program.
 */
#ifndef ALYS_COUNTING_ENTRIES_H
#define ALYS_COUNTING_ENTRIES_H

#include "base/map.h"
#include "catalog/catalog.h"
#include "recording/handles.h"

struct entries {
	const struct handles *h;
	/* An id for a stack of this one frame; 0: no memory. */
	struct stack_id (*entry)(void *ctx, struct proc_id proc, const struct frame *entry);
	void *ctx;
	struct map known; /* process id << 32 | function's number -> id of its stack */
	bool failed;      /* out of memory */
};

/* All counts as they are now. */
void entries_publish(struct entries *e);
/* The process executes another program now, with this number (struct alys_entered): what the one before called. */
void entries_exec(struct entries *e, uint32_t tgid, uint64_t program);
/* The process has ended. */
void entries_end(struct entries *e, uint32_t tgid);
void entries_free(struct entries *e);

#endif
