/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monitor/profiles: profiles of a recording that goes on. In: what was asked for. Out: bytes of a
 * format, at once where all names are known, else as soon as they are. What was asked is answered as of
 * the moment of asking, also when the process has ended meanwhile. One thread.
 */
#ifndef ALYS_MONITOR_PROFILES_H
#define ALYS_MONITOR_PROFILES_H

#include <stdbool.h>

#include "base/buf.h"
#include "format/skip.h"
#include "monitor/heaps.h"
#include "naming/naming.h"
#include "recorder/live.h"

struct profile_request {
	const char *format;            /* a sink's name */
	const char *value;             /* its first value; NULL = the format's own */
	struct proc_id proc;           /* 0 = all */
	const struct heap_mark *since; /* borrowed until the request returns; NULL = from the beginning */
	size_t rows_max;               /* as for heaps_snapshot */
	const char *cause;             /* why this is the last one, as words for its comment; NULL = it is not */
	bool moment;                   /* as in struct sink_options */
	bool patient;                  /* one of many that nobody waits for: never made within profiles_ask */
	const void *caller;            /* on whose behalf, for profiles_forget; NULL = nobody who could go */
	/* Exactly once; takes what is in out when rc is 0. Within profiles_ask when all is known, if not patient. */
	void (*done)(void *ctx, int rc, struct buf *out, const struct err *err);
	void *ctx;
};

struct profiles;

/* Borrows all; skip: frames at the leaf that no profile shows. */
struct profiles *profiles_new(struct live *l, const struct heaps *h, struct naming *n, const struct skip *skip);
/* Those that wait are answered with -ECANCELED. */
void profiles_free(struct profiles *p);
/* The caller is gone: what it waits for is answered with -ECANCELED, unseen. */
void profiles_forget(struct profiles *p, const void *caller);
/* 0: done() was or will be called. Else it will not: -ESRCH no such process, -EINVAL, -ENOMEM. */
int profiles_ask(struct profiles *p, const struct profile_request *r, struct err *err);
/*
 * Answers what can be answered, for some milliseconds, and has names looked for. To be called after naming_collect,
 * and often; at once again when true.
 */
bool profiles_work(struct profiles *p);
/* While this is not 0, the catalog must keep what it has. */
size_t profiles_waiting(const struct profiles *p);
/* Answers what waits with the names that are there. */
void profiles_flush(struct profiles *p);

#endif
