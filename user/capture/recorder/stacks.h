/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder/stacks: one id for each distinct call stack. A process sends a stack once, under a hash, and names it by that
 * from then on; equal addresses are another stack once something else lies there (target_epoch). In: hashes and resolved
 * frames. Out: ids, and stacks into catalog and trace.
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
	struct map known; /* hash -> the process' epoch << 32 | id, as they were last */
	uint32_t count;   /* so far: the last one's id */
	bool refusing;    /* takes no new ones: memory is short */
	uint64_t refused;
	bool forgets;                 /* some are thrown away now and then */
	struct map recalled;          /* then: those that were sent again since, by id */
	uint64_t ends[STACK_END_CNT]; /* how the walks ended */
	bool failed;                  /* memory ran out */
};

/* Who sent it: the process, and its epoch now. */
struct stack_of {
	struct proc_id proc;
	uint32_t epoch;
};

/* 0: it never arrived. */
struct stack_id stacks_find(struct stacks *s, const struct stack_of *of, uint64_t hash);
/* A stack has arrived: false when it is known, or not to be taken. */
bool stacks_want(struct stacks *s, const struct stack_of *of, uint64_t hash);
/* Takes a wanted one. */
void stacks_put(struct stacks *s, const struct stack_of *of, uint64_t hash, uint8_t end, const struct frame *frames, uint32_t n);

/* From now on stacks are forgotten: those that arrive again are remembered as recalled, from none on. */
void stacks_recall(struct stacks *s);
bool stacks_is_recalled(const struct stacks *s, struct stack_id id);
/* Hashes of the stacks that are in `kept`; false: no memory. Then stacks_replace. */
bool stacks_kept(const struct stacks *s, const struct catalog *kept, struct map *out);
void stacks_replace(struct stacks *s, const struct map *known);
/* Distinct ones less those that were forgotten; 0: none was. */
uint64_t stacks_left(const struct stacks *s);
void stacks_free(struct stacks *s);

#endif
