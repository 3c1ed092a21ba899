/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibrate/results: runs calibrations in a thread while the recording continues: starting a helper takes time, and a
 * hostile library can take as long as it likes. One file at a time, first come first served. All calls must come from
 * one thread.
 */
#ifndef ALYS_CALIBRATE_RESULTS_H
#define ALYS_CALIBRATE_RESULTS_H

#include "calibrate/calibrate.h"
#include "event/event.h"

struct calibration_request {
	struct module_id module;
	int fd;
	struct site_list calls, plain; /* sites of the file, see struct findings */
};

struct calibration_result {
	struct module_id module;
	struct calibration said;
	struct site_list plain; /* CALIBRATION_WRONG: the file's sites without cheap exits; sites_free */
};

/* Synchronous: until the helper has ended or was given up, two seconds at most. May take sites from o. */
void calibration_now(struct calibration_request *o, struct calibration_result *out);
/* Does not close its descriptor. */
void calibration_request_free(struct calibration_request *o);

struct calibration_queue;

/* NULL if out of memory or descriptors. */
struct calibration_queue *calibration_queue_new(void);
/* Gives up a running helper. */
void calibration_queue_free(struct calibration_queue *v);
/* Readable when a result is available. */
int calibration_queue_fd(const struct calibration_queue *v);
/* Takes o's sites and duplicates the descriptor. 0 or -errno: nothing is taken, and there will be no result. */
int calibration_queue_ask(struct calibration_queue *v, const struct calibration_request *o);
/* False if there is none. *out is owned by the caller. */
bool calibration_queue_take(struct calibration_queue *v, struct calibration_result *out);

#endif
