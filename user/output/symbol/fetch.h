/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol/fetch: debug information from the network, through libdebuginfod, if the user requested it. Never as root: a
 * process of the user who called sudo downloads it and passes the file on.
 */
#ifndef ALYS_SYMBOL_FETCH_H
#define ALYS_SYMBOL_FETCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Can fetching work: are servers configured, and is there an unprivileged user? */
int fetch_check(struct err *err);
/* The debug information of a build id: a descriptor, or -1. progress may be NULL. */
int fetch_debug(const uint8_t *id, size_t id_sz, void (*progress)(void *ctx, uint64_t done, uint64_t total), void *ctx);

#endif
