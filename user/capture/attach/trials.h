/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach/trials: proves that a file's sites are right. Calibration (calibrate/) does so if the file can be loaded
 * alone. Until then, and where that is impossible, the first calls of processes are compared with plain exits.
 */
#ifndef ALYS_ATTACH_TRIALS_H
#define ALYS_ATTACH_TRIALS_H

#include "attach/sitecache.h"
#include "recording/handles.h"

struct calibration_queue;

/* A trial that is over; its exits are still attached. */
struct ended_trial {
	uint32_t number;
	uint64_t since_ns;
};

struct trials {
	const struct handles *h;
	struct calibration_queue *calibrations; /* NULL until the first request */
	struct ended_trial *ended;
	size_t ended_cnt, ended_cap;
};

/*
 * Calibrates the file, once. While nothing else runs, or a process is stopped, it waits for the result, so that no call
 * is observed otherwise. exits: there are cheap ones, which must be proven. whole: places that see whole calls are wanted; nobody waits for
 * these alone while calls are recorded.
 */
void trials_calibrate(struct trials *t, struct file_sites *f, int fd, bool exits, bool whole);
/* Attaches its sites; on trial while they are unproven. */
int trials_attach(const struct trials *t, uint32_t tgid, struct file_sites *f, int fd, enum probe_returns returns,
		  struct err *err);
/* Ends the file's trials once one has seen enough calls. */
void trials_check(struct trials *t, struct file_sites *f);
/* Detaches the exits of trials that ended a while ago. */
void trials_leave_ended(struct trials *t, uint64_t now_ns);
/* The next file whose result has arrived, and applies it; NULL: none. */
struct file_sites *trials_take(struct trials *t, const struct site_cache *c);
/* Readable when a result has arrived; -1 before the first request. */
int trials_fd(const struct trials *t);
void trials_free(struct trials *t);

#endif
