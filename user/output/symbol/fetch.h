/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol/fetch: debug information from the network, through libdebuginfod, when the user asked for
 * it. Never as root: a process of the user who called sudo does it and hands the file over.
 */
#ifndef ALYS_SYMBOL_FETCH_H
#define ALYS_SYMBOL_FETCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Whether fetching can work at all: servers are named, and there is a user to do it as. */
int fetch_check(struct err *err);
/* The debug information of a build id: a descriptor, or -1. progress may be NULL. */
int fetch_debug(const uint8_t *id, size_t id_sz, void (*progress)(void *ctx, uint64_t done, uint64_t total), void *ctx);

#endif
