/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach/trials: are the sites of a file right? A calibration (calibrate/) says so where the file can be tried alone.
 * Until it has, and where it cannot be, the first calls of processes are held against plain exits.
 */
#ifndef ALYS_ATTACH_TRIALS_H
#define ALYS_ATTACH_TRIALS_H

#include "attach/sitecache.h"
#include "recording/handles.h"

struct calibration_queue;

struct trials {
	const struct handles *h;
	struct calibration_queue *calibrations; /* NULL until one is asked for */
};

/*
 * Tries the file, once. While nothing else goes on, or a process is held, the result is waited for: then no call is ever
 * seen another way.
 */
void trials_calibrate(struct trials *t, struct file_sites *f, int fd);
/* Puts its sites under probes: on trial while they are unproven. */
int trials_attach(const struct trials *t, uint32_t tgid, struct file_sites *f, int fd, enum probe_returns returns,
		  struct err *err);
/* Ends the file's trials when one has seen enough calls. */
void trials_look(const struct trials *t, struct file_sites *f);
/* The next file whose result has come, which is accepted; NULL: none has. */
struct file_sites *trials_take(const struct trials *t, const struct site_cache *c);
/* Readable when a result has come; -1 before one was asked for. */
int trials_fd(const struct trials *t);
void trials_free(struct trials *t);

#endif
