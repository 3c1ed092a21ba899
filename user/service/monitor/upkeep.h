/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monitor/upkeep: what an endless recording does now and then: it measures itself and keeps within --max-memory and
 * --max-overhead, notes histories, and forgets what is no longer needed.
 */
#ifndef ALYS_MONITOR_UPKEEP_H
#define ALYS_MONITOR_UPKEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct continuous;

#define UPKEEP_NS 1000000000ull        /* between measurements of memory and overhead */
#define UPKEEP_FIRST_ROOM (8ull << 20) /* for the first process: unwind rows and other data of its modules */

/* When the recording is switched on. */
void upkeep_begin(struct continuous *c);
/* Does what is due. now: CLOCK_MONOTONIC. */
void upkeep_work(struct continuous *c, uint64_t now);
/* Compares memory and overhead with their limits, and samples less, or more again. */
void upkeep_limits(struct continuous *c, uint64_t now);
void upkeep_apply_interval(struct continuous *c);
/* -ENOMEM: the limit of memory is so low that less would be sampled from the start. taken, more: bytes. */
int upkeep_check_room(struct continuous *c, uint64_t taken, uint64_t more, struct err *err);
/* For struct live_room: is there memory to read the file of that path? ctx: struct continuous. */
bool upkeep_has_room(void *ctx, const char *path);
/* Bytes reserved for temporary copies. */
uint64_t upkeep_reserved(const struct continuous *c);
/* CPU time of all our processes. */
double upkeep_cpu_s(void);

#endif
