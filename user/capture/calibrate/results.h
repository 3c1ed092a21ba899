/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibrate/results: what calibrations say of files, found by a thread while the recording goes on: a helper takes
 * its time to start, and a hostile library as much as it likes. One file at a time, in the order of asking.
 * All calls come from one thread.
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

/* At once: until the helper has ended or was given up, two seconds at most. Takes what it gives of o's sites. */
void calibration_now(struct calibration_request *o, struct calibration_result *out);
/* Not its descriptor. */
void calibration_request_free(struct calibration_request *o);

struct calibration_queue;

/* NULL without memory or descriptors. */
struct calibration_queue *calibration_queue_new(void);
/* Gives up the helper at work, if any. */
void calibration_queue_free(struct calibration_queue *v);
/* Readable when there is something to take. */
int calibration_queue_fd(const struct calibration_queue *v);
/* Takes o's sites, and copies the descriptor. 0 or -errno: then nothing is taken, and nothing will come. */
int calibration_queue_ask(struct calibration_queue *v, const struct calibration_request *o);
/* False when there is none. What *out has is the caller's. */
bool calibration_queue_take(struct calibration_queue *v, struct calibration_result *out);

#endif
