/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming: symbolizes new stacks while the recording runs, in a thread with its own catalog and descriptors, so that
 * nothing is shared. One job at a time.
 */
#ifndef ALYS_NAMING_H
#define ALYS_NAMING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "recording/handles.h"

struct naming;

struct naming *naming_new(const struct handles *h, struct err *err);
/* Waits briefly for a running job; otherwise it ends with the process. */
void naming_free(struct naming *n);
/* Readable when a job has finished. */
int naming_fd(const struct naming *n);
/* Stacks up to this id have been looked up, successfully or not. */
uint32_t naming_reached(const struct naming *n);
bool naming_is_busy(const struct naming *n);
/* Starts a job for all stacks in the catalog, up to id `last`; does nothing while one is running. */
int naming_begin(struct naming *n, uint32_t last, struct err *err);
/* Copies the names of a finished job into the catalog. True if there was one. */
bool naming_collect(struct naming *n);
/* Memory limit for a worker of later jobs. */
void naming_set_room(struct naming *n, uint64_t bytes);
/* Number of symbol workers that died, hung or sent invalid answers. */
uint64_t naming_failures(const struct naming *n);

#endif
