/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top/feed: parses what sink/top_rows.c writes: processes, frames and stacks at one moment. The lines may come from a
 * daemon over a socket, so they are untrusted. Private to this module.
 */
#ifndef ALYS_TOP_FEED_H
#define ALYS_TOP_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "event/event.h"

#define FEED_STACKS_MAX 20000
#define FEED_FRAMES_MAX 64
#define FEED_CAUSES_MAX 400 /* bytes */

struct feed_frame {
	const char *name, *place; /* "FILE:LINE" or "" */
};

struct feed_process {
	uint32_t pid;
	const char *comm, *exe;
	double live_sz, live_cnt, alloc_sz, alloc_cnt;
	double error; /* standard error of live_sz */
};

struct feed_stack {
	uint32_t pid;
	double live_sz, live_cnt, alloc_sz, alloc_cnt;
	double error; /* as above */
	const char *type;
	uint32_t first, frames_cnt; /* in feed.path; innermost first, never 0 of them */
	uint64_t key;               /* derived from pid, type and frame texts: equal from feed to feed, unique */
};

struct feed {
	char *text; /* owns all strings */
	uint64_t now_ns, start_ns, interval;
	enum subject subject;
	bool sampled;
	bool inexact;     /* estimates with errors */
	bool off;         /* the daemon's recording is switched off */
	double *error_of; /* where an error goes that comes now; NULL */
	double hits, recorded, skipped, lost;
	struct buf causes; /* of losses: "ring-full 12, foreign 3" */
	const char *note;  /* the first; "" */
	struct feed_process *processes;
	size_t processes_cnt, processes_cap;
	struct feed_frame *frames;
	size_t frames_cnt, frames_cap;
	uint32_t *path; /* numbers of frames */
	size_t path_cnt, path_cap;
	struct feed_stack *stacks;
	size_t stacks_cnt, stacks_cap;
	struct map stack_index; /* key -> place in stacks + 1 */
};

/* 0, -ENOMEM, or -EINVAL with a message: the feed must not be used. Call feed_free in any case. */
int feed_parse(struct feed *f, const char *text, size_t len, struct err *err);
void feed_free(struct feed *f);

#endif
