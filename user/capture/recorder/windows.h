/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder/windows: a sampled recording that takes no more of its programs' time than --max-overhead says. Where probes
 * are too dear to be in all the time, a thread puts them in for some milliseconds now and then; when, and what such a
 * window stands for, is decided here, by the modules window and probe.
 */
#ifndef ALYS_RECORDER_WINDOWS_H
#define ALYS_RECORDER_WINDOWS_H

#include "attach/attach.h"
#include "base/buf.h"
#include "recorder/rate.h"
#include "recording/handles.h"

struct windows;

/* All borrowed. */
struct windows_config {
	double percent; /* of the programs' time */
	const struct handles *h;
	const struct attach *attach;
	const struct rate *rate;
	const uint64_t *read_ns; /* what was sent before then has been read */
	void *ctx;
	void (*event)(void *ctx, const struct event *e); /* of a window */
};

/* Finds out what a probe costs. NULL: err. */
struct windows *windows_new(const struct windows_config *c, struct err *err);
/* To be called often, before the ring is read. False: it is not to be read now, for a window is open. */
bool windows_look(struct windows *w);
/* A sample of a window stands for more than itself. */
void windows_weigh(const struct windows *w, struct event *e);
/* No window is open afterwards, nor opens again. */
void windows_end(struct windows *w);
void windows_free(struct windows *w);
/* Bytes of processes of which no window saw anything, by their own count. */
double windows_missed(const struct windows *w);
/* By how much the samples of each process' windows stand for more than the time says: "ID:FACTOR ...". */
void windows_factors(const struct windows *w, struct buf *out);
/* How much was covered, at what price; a line without its end. */
void windows_describe(const struct windows *w, struct buf *out);

#endif
