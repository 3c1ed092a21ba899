/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monitor/traces: a recording that goes on, as .alys files one after another. In: descriptors of new files,
 * and events. Out: files of which each can be read alone: what its events name is in it, blocks that lived when it
 * began are in it, and its account is that of its own time. It names, makes and removes no files. One thread.
 */
#ifndef ALYS_MONITOR_TRACES_H
#define ALYS_MONITOR_TRACES_H

#include "monitor/compact.h"
#include "naming/naming.h"
#include "recorder/live.h"
#include "trace/trace.h"

struct trace_end {
	/* Exactly once, when the file is closed; rc is not 0 when it is not whole. */
	void (*done)(void *ctx, int rc, const struct err *why);
	void *ctx;
};

struct traces;

/* Borrows; what lives in the heaps when a file begins is carried over into it. */
struct traces *traces_new(struct live *l, const struct heaps *h, struct naming *n);
/* Closes all files, with the names that are there. */
void traces_free(struct traces *t);
/* As continuous_record. */
int traces_turn(struct traces *t, int fd, const struct trace_end *end, struct err *err);
/* Events and definitions go into the current file, if any. */
void traces_event(struct traces *t, const struct event *e);
int traces_define(struct traces *t, const struct definition *d);
void traces_tick(struct traces *t, uint64_t now_ns);
/* Events of the current file that the disk had no room for. */
uint64_t traces_dropped(const struct traces *t);
/* Events in the file so far; the bytes by which it grew since it began. */
uint64_t traces_size(const struct traces *t, uint64_t *bytes);
/* Completes files whose names are there. To be called after naming_collect, and often. */
void traces_work(struct traces *t);
/* The catalog may forget what is not kept: its names are in the file. False: not yet. */
bool traces_settle(struct traces *t, const struct compact *kept);
/* To be called when the recording has replaced its catalog. */
void traces_follow(struct traces *t);
/* Completes the files that wait; looks for their names for a second. */
void traces_flush(struct traces *t);

#endif
