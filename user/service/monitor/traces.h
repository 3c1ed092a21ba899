/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monitor/traces: an endless recording as a series of .alys files. In: descriptors of new files, and events. Out: files
 * that can each be read alone: each contains the definitions that its events use, the blocks that were live when it
 * began, and a ledger of its own time. It does not name, create or remove files. Single-threaded.
 */
#ifndef ALYS_MONITOR_TRACES_H
#define ALYS_MONITOR_TRACES_H

#include "monitor/compact.h"
#include "naming/naming.h"
#include "recorder/live.h"
#include "trace/trace.h"

struct trace_end {
	/* Called exactly once, when the file is closed; rc is not 0 if it is incomplete. */
	void (*done)(void *ctx, int rc, const struct err *why);
	void *ctx;
};

struct traces;

/* Borrows; what lives in the heaps when a file begins is carried over into it. */
struct traces *traces_new(struct live *l, const struct heaps *h, struct naming *n);
/* Closes all files, with the symbols that exist. */
void traces_free(struct traces *t);
/* See continuous_record. */
int traces_turn(struct traces *t, int fd, const struct trace_end *end, struct err *err);
/* Events and definitions go into the current file, if any. */
void traces_event(struct traces *t, const struct event *e);
int traces_define(struct traces *t, const struct definition *d);
void traces_tick(struct traces *t, uint64_t now_ns);
/* Events of the current file that were dropped because the disk was full. */
uint64_t traces_dropped(const struct traces *t);
/* Events in the current file; bytes written since it began. */
uint64_t traces_size(const struct traces *t, uint64_t *bytes);
/* Completes files whose symbols are there. Call after naming_collect, and often. */
void traces_work(struct traces *t);
/* May the catalog forget what is not kept? Its names must be in the file. False: not yet. */
bool traces_settle(struct traces *t, const struct compact *kept);
/* Call after the recording has replaced its catalog. */
void traces_follow(struct traces *t);
/* Completes pending files; waits up to a second for their symbols. */
void traces_flush(struct traces *t);

#endif
