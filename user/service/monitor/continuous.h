/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monitor/continuous: an endless recording: switched on and off, over processes that come and go, in bounded memory.
 * In: the kernel's records. Out: the state of each process as numbers, as profiles, and as traces into given files. It
 * opens no sockets and no files. Single-threaded.
 */
#ifndef ALYS_MONITOR_CONTINUOUS_H
#define ALYS_MONITOR_CONTINUOUS_H

#include <poll.h>

#include "monitor/profile_requests.h"
#include "monitor/continuous_shapes.h"
#include "monitor/traces.h"

struct continuous;

/* Opens everything and stays switched off. Borrows the options. */
struct continuous *continuous_new(const struct continuous_options *o, const struct continuous_ops *ops, struct err *err);
void continuous_free(struct continuous *c);
/* Could an unprivileged process continue with it, through access/rights? */
bool continuous_can_split(const struct continuous *c);
/* Starts with an empty model, over the processes that exist now. */
int continuous_on(struct continuous *c, struct err *err);
/* Detaches all probes; data stays readable. */
void continuous_off(struct continuous *c);
/* Adds a process, or drops it. -ESRCH: no such process. */
int continuous_add(struct continuous *c, uint32_t tgid, struct err *err);
int continuous_remove(struct continuous *c, uint32_t tgid, struct err *err);
void continuous_set_interval(struct continuous *c, uint64_t interval);

#define CONTINUOUS_FDS (2 + LIVE_FDS)
/* Fills in descriptors to poll; returns their number. */
size_t continuous_fds(const struct continuous *c, struct pollfd *out);
/* Does pending work; returns how many ms until the next call. -ENOMEM: the recording is off now. */
int continuous_work(struct continuous *c, struct err *err);

/*
 * Calls fn for each process, with its heap of the first subject, until it returns non-zero, and returns that. beside: for the
 * heaps of other subjects, too.
 */
int continuous_each(const struct continuous *c, bool beside, int (*fn)(void *ctx, const struct continuous_process *p), void *ctx);
/* shown: a subject's number and 1, 0 = the first one; tgid 0: all processes. -ENOENT: not traced, or not recorded. */
int continuous_choose(const struct continuous *c, uint32_t shown, uint32_t tgid, struct heap_choice *out, struct err *err);
/* The process as currently traced; 0 if it is not. */
struct proc_id continuous_find(const struct continuous *c, uint32_t tgid);
/* Is it still the process with that pid? It may have ended, with its data still here. */
bool continuous_is_there(const struct continuous *c, uint32_t tgid);
int continuous_profile(struct continuous *c, const struct profile_request *r, struct err *err);
/* See profiles_forget. */
void continuous_forget(struct continuous *c, const void *caller);
/* Answers requests that wait for symbols with those that exist; files wait for theirs for a second. */
void continuous_flush(struct continuous *c);
/*
 * From now on events go into this new file, too; -1: into none. Takes fd. The previous file is completed when its
 * symbols are there. On failure the previous file continues and end->done is not called.
 */
int continuous_record(struct continuous *c, int fd, const struct trace_end *end, struct err *err);
/* Events in the current file, and the bytes written since it began. */
uint64_t continuous_recorded(const struct continuous *c, uint64_t *bytes);
struct heap_mark *continuous_mark(struct continuous *c, const struct heap_choice *of);
void continuous_status(const struct continuous *c, struct continuous_status *out);
/* How exact the live sets of collected heaps are, see live_exactness. */
void continuous_exactness(struct continuous *c, struct exactness *out);
/* The current ledger; borrowed. */
const struct catalog *continuous_ledger(struct continuous *c);

#endif
