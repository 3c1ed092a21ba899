/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/ledger: the kernel's counters and our own as one account, into catalog and trace. */
#ifndef ALYS_RECORDER_LEDGER_H
#define ALYS_RECORDER_LEDGER_H

#include "attach/rows.h"
#include "catalog/catalog.h"
#include "intake/intake.h"
#include "liveness/liveness.h"
#include "probe/probe.h"
#include "recorder/stats.h"
#include "recording/handles.h"

/* A name of the account that others ask for. */
#define CHILDREN_LATE "children-late"

/* What the parts of a recording have counted, all at one time. */
struct ledger_sources {
	struct probe_stats kernel;
	const struct probe_calls *calls; /* by function */
	size_t calls_cnt;
	struct recorder_stats own;
	struct intake_counts intake;
	bool over;                    /* what was sent and is not read is lost, not late */
	uint64_t stacks, stacks_left; /* distinct ones, see stacks_left */
	const uint64_t *stack_ends;   /* STACK_END_CNT */
	uint64_t rate_changes, renewals, children_late;
	struct unwind_counts rows;
	const uint64_t *rowless; /* ROWLESS_CNT: files without rows, by reason */
	uint64_t files_given_up;
	bool collects; /* there is a collector: the next two count */
	struct liveness_counts collections;
	struct marks_cost marks;
	bool sample_gap; /* see attach_sample_gap */
};

struct ledger {
	const struct handles *h;
	void *ctx;
	void (*event)(void *ctx, const struct event *e); /* a loss */
	uint64_t reported[4];                            /* lost events by kind, as told so far */
	/* Of a file that began within the recording; see monitor/traces. */
	const struct catalog *account; /* what had been counted when it began, NULL = nothing */
	int64_t under_way;             /* hits of which no outcome had been counted by then */
	uint64_t dropped_before;       /* events that files before it had no room for */
};

/* Brings the account up to date; new losses also become events, at time `now`. */
void ledger_publish(struct ledger *g, const struct ledger_sources *in, uint64_t now);
/*
 * The file ends while probes run on: hits whose outcome is not counted yet are skipped in its account, and
 * count for the next one. To be called after ledger_publish.
 */
void ledger_cut(struct ledger *g);

#endif
