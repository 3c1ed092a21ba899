/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/ledger: combines the kernel's counters and our own into one ledger, for catalog and consumer. */
#ifndef ALYS_RECORDER_LEDGER_H
#define ALYS_RECORDER_LEDGER_H

#include "attach/unwind_rows.h"
#include "catalog/catalog.h"
#include "intake/intake.h"
#include "liveness/liveness.h"
#include "probe/probe.h"
#include "recording/handles.h"

/* Names of ledger entries that other modules use. */
#define CHILDREN_LATE "children-late"

/* Events and stacks counted by the recording itself. */
struct recorder_stats {
	uint64_t written[SUBJECT_CNT][4]; /* events handed to the consumer, by kind */
	uint64_t foreign;                 /* records of processes that are no longer known */
	uint64_t unknown_stacks;          /* events whose stack record was lost */
	uint64_t unresolved;              /* stacks with an address in no known file */
	uint64_t let_go;                  /* threads that were not held until their files had been probed */
};

/* All counters of a recording, read at one time. */
struct ledger_sources {
	struct probe_stats kernel;
	const struct probe_calls *calls; /* by function */
	size_t calls_cnt;
	struct recorder_stats own;
	struct intake_counts intake;
	bool over;                    /* what was sent and not read is lost, not late */
	uint64_t stacks, stacks_left; /* distinct ones; see stacks_left */
	const uint64_t *stack_ends;   /* STACK_END_CNT */
	uint64_t rate_changes, renewals, children_late;
	struct unwind_counts rows;
	const uint64_t *rowless; /* ROWLESS_CNT: files without unwind rows, by reason */
	uint64_t files_given_up;
	bool collects; /* there is a collector: the next two are valid */
	struct liveness_counts collections;
	struct marks_cost marks;
	bool sample_gap; /* see attach_sample_gap */
};

struct ledger {
	const struct handles *h;
	void *ctx;
	void (*event)(void *ctx, const struct event *e); /* a loss */
	uint64_t reported[4];                            /* lost events by kind, as reported so far */
	/* For a file that starts within the recording; see monitor/traces. */
	const struct catalog *account; /* counters when the file began, NULL = zero */
	int64_t under_way;             /* hits whose outcome had not been counted by then */
	uint64_t dropped_before;       /* events that did not fit into earlier files */
};

/* Updates the ledger; new losses also become events, at time `now`. */
void ledger_publish(struct ledger *g, const struct ledger_sources *in, uint64_t now);
/*
 * The file ends while probes stay: hits whose outcome is not counted yet are skipped in its ledger, and count for the
 * next file. Call after ledger_publish.
 */
void ledger_cut(struct ledger *g);

#endif
