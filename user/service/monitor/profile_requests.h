/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monitor/profile_requests: profiles of a running recording. In: requests. Out: bytes of a format, immediately if all symbols
 * are known, otherwise once they are. A profile shows the moment of its request, even if the process has ended
 * meanwhile. Single-threaded.
 */
#ifndef ALYS_MONITOR_PROFILE_REQUESTS_H
#define ALYS_MONITOR_PROFILE_REQUESTS_H

#include <stdbool.h>

#include "base/buf.h"
#include "format/skip.h"
#include "monitor/heaps.h"
#include "naming/naming.h"
#include "recorder/live.h"

struct profile_request {
	const char *format;            /* a sink's name */
	const char *value;             /* its first value; NULL = the format's default */
	struct proc_id proc;           /* a heap's; 0 = all processes */
	uint8_t subject;               /* of all: enum subject, 0 = the first one */
	const struct heap_mark *since; /* borrowed until the request returns; NULL = from the beginning */
	size_t rows_max;               /* see heaps_snapshot */
	const char *cause;             /* why this is the last one, for its comment; NULL = it is not */
	bool moment;                   /* see struct sink_options */
	bool patient;                  /* low priority: never produced within profiles_ask */
	const void *caller;            /* for profiles_forget; NULL = cannot be cancelled */
	/*
	 * Called exactly once; takes the contents of out if rc is 0. Within profiles_ask if everything is known, unless
	 * patient.
	 */
	void (*done)(void *ctx, int rc, struct buf *out, const struct err *err);
	void *ctx;
};

struct profiles;

/* Borrows all; skip: leaf frames that no profile shows. */
struct profiles *profiles_new(struct live *l, const struct heaps *h, struct naming *n, const struct skip *skip);
/* Pending requests are answered with -ECANCELED. */
void profiles_free(struct profiles *p);
/* The caller is gone: its pending requests are answered with -ECANCELED. */
void profiles_forget(struct profiles *p, const void *caller);
/* 0: done() was or will be called. Otherwise it will not: -ESRCH no such process, -EINVAL, -ENOMEM. */
int profiles_ask(struct profiles *p, const struct profile_request *r, struct err *err);
/*
 * Answers what can be answered, for some milliseconds, and starts symbolization. Call after naming_collect, and often;
 * again at once if true.
 */
bool profiles_work(struct profiles *p);
/* While this is not 0, the catalog must not drop anything. */
size_t profiles_waiting(const struct profiles *p);
/* Answers pending requests with the symbols that exist. */
void profiles_flush(struct profiles *p);

#endif
