/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming: names for new stacks while the recording goes on: on a thread that has a catalog of its
 * own and open files of its own, so that it shares nothing. One job at a time.
 */
#ifndef ALYS_NAMING_H
#define ALYS_NAMING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "recording/handles.h"

struct naming;

struct naming *naming_new(const struct handles *h, struct err *err);
/* A job on its way gets a moment to end; else it is left to the end of the process. */
void naming_free(struct naming *n);
/* Readable when a job is done. */
int naming_fd(const struct naming *n);
/* Stacks up to this id have been asked for, with or without success. */
uint32_t naming_reached(const struct naming *n);
bool naming_is_busy(const struct naming *n);
/* Begins a job for all stacks that are in the catalog, up to the last one's id; nothing when one is on its way. */
int naming_begin(struct naming *n, uint32_t last, struct err *err);
/* Takes the names of a finished job into the catalog. True when there was one. */
bool naming_collect(struct naming *n);
/* Memory that a worker of later jobs may take, alone at its work. */
void naming_set_room(struct naming *n, uint64_t bytes);
/* Symbol workers that died, hung or lied, over all jobs. */
uint64_t naming_failures(const struct naming *n);

#endif
