/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder/account: what became of the calls of one process that were to be recorded, as far as that is known of
 * each: the events that came, and what the probes' programs lost, by stage. What was skipped, and what was lost behind
 * the programs, is known of all processes together only. One thread.
 */
#ifndef ALYS_RECORDER_ACCOUNT_H
#define ALYS_RECORDER_ACCOUNT_H

#include <stdint.h>

#include "catalog/catalog.h"
#include "probe/probe.h"

struct account {
	uint64_t recorded;
	struct alys_losses lost;
	const char *left[ALYS_LOST_FUNCTIONS]; /* functions of lost.left, the probe's */
};

/* As it is now; recorded: events of the process that came. */
struct account account_read(const struct probe *p, uint32_t tgid, uint64_t recorded);
uint64_t account_lost(const struct account *a);
/* "ring-full-alloc 3, unreadable 2": the stages that lost something. */
void account_lost_by(const struct account *a, char *out, size_t cap);
/* What came since an earlier one of the same process. */
struct account account_since(const struct account *now, const struct account *before);
/* As a ledger: hits = recorded + lost. 0 or -ENOMEM. */
int account_put(const struct account *a, struct catalog *to);

#endif
