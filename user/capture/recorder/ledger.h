/* recorder/ledger: the kernel's counters and our own as one account, into catalog and trace. */
#ifndef ALYS_RECORDER_LEDGER_H
#define ALYS_RECORDER_LEDGER_H

#include "recorder/live.h"

/* A name of the account that others ask for. */
#define CHILDREN_LATE "children-late"

/* Brings the account up to date; new losses also become events, at time `now`. */
void ledger_publish(struct live *l, uint64_t now);
/*
 * The file ends while probes run on: hits whose outcome is not counted yet are set aside in its account, and
 * count for the next one. To be called after ledger_publish.
 */
void ledger_cut(struct live *l);

#endif
