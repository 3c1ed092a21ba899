/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder/stacks: one id per distinct call stack. A process sends a stack once, with its hash, and refers to it by the
 * hash from then on; the same addresses are another stack once something else is mapped there (target_epoch). In:
 * hashes and resolved frames. Out: ids, and stacks for catalog and consumer.
 */
#ifndef ALYS_RECORDER_STACKS_H
#define ALYS_RECORDER_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "catalog/catalog.h"
#include "recording/handles.h"

struct stacks {
	const struct handles *h;
	struct map known; /* hash -> epoch of the process << 32 | id, latest */
	uint32_t count;   /* also the last id */
	bool refusing;    /* takes no new stacks, and no names: memory limit */
	uint64_t refused;
	bool forgets;                 /* old stacks are discarded now and then */
	struct map recalled;          /* then: ids of those sent since the last time */
	uint64_t ends[STACK_END_CNT]; /* how the walks ended */
	bool failed;                  /* out of memory */
};

/* The process, and its current epoch. */
struct stack_of {
	struct proc_id proc;
	uint32_t epoch;
};

/* 0: it has not arrived. */
struct stack_id stacks_find(struct stacks *s, const struct stack_of *of, uint64_t hash);
/* A stack has arrived: false if it is known, or must not be added. */
bool stacks_want(struct stacks *s, const struct stack_of *of, uint64_t hash);
/* Adds a stack for which stacks_want was true: `found` has no id and process yet. */
void stacks_put(struct stacks *s, const struct stack_of *of, uint64_t hash, const struct stack *found);
/* A stack that no event has: of the entry of a function whose calls are counted. 0: no memory. */
struct stack_id stacks_entry(struct stacks *s, struct proc_id proc, const struct frame *entry);
/* Of blocks of this type from before the recording. 0: no memory. */
struct stack_id stacks_older(struct stacks *s, struct proc_id proc, const char *type);

/*
 * Starts discarding stacks: those that arrive from now on are noted in `recalled`. Only they can have events that have not been
 * read, once everything sent before has been.
 */
void stacks_recall(struct stacks *s);
bool stacks_is_recalled(const struct stacks *s, struct stack_id id);
/* Hashes of the stacks in `kept`; false: out of memory. Then call stacks_replace. */
bool stacks_kept(const struct stacks *s, const struct catalog *kept, struct map *out);
void stacks_replace(struct stacks *s, const struct map *known);
/* Number of distinct stacks, less the discarded ones; 0: none were discarded. */
uint64_t stacks_left(const struct stacks *s);
void stacks_free(struct stacks *s);

#endif
