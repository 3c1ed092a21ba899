/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder/account: the ledger of one process, as far as it is known per process: events recorded, and losses in the
 * BPF programs by stage. Skipped events and later losses are known for all processes together only. Single-threaded.
 */
#ifndef ALYS_RECORDER_ACCOUNT_H
#define ALYS_RECORDER_ACCOUNT_H

#include <stdint.h>

#include "catalog/catalog.h"
#include "probe/probe.h"

struct account {
	uint64_t recorded;
	struct alys_losses lost;
	const char *left[ALYS_LOST_FUNCTIONS]; /* functions of lost.left, owned by probe */
};

/* The current state; recorded: events of the process so far. */
struct account account_read(const struct probe *p, uint32_t tgid, uint64_t recorded);
uint64_t account_lost(const struct account *a);
/* "ring-full-alloc 3, unreadable 2": stages with losses. */
void account_lost_by(const struct account *a, char *out, size_t cap);
/* The difference to an earlier state of the same process. */
struct account account_since(const struct account *now, const struct account *before);
/* As ledger lines: hits = recorded + lost. 0 or -ENOMEM. */
int account_put(const struct account *a, struct catalog *to);

#endif
