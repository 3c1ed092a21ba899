/*
 * calibrate/verdicts: what calibrations say of files, found by a thread while the recording goes on: a helper takes
 * its time to start, and a hostile library as much as it likes. One file at a time, in the order of asking.
 * All calls come from one thread.
 */
#ifndef ALYS_CALIBRATE_VERDICTS_H
#define ALYS_CALIBRATE_VERDICTS_H

#include "calibrate/calibrate.h"
#include "event/event.h"

struct verdict_order {
	struct module_id module;
	int fd;
	struct site_list calls, plain; /* sites of the file, see struct findings */
};

struct verdict_on {
	struct module_id module;
	struct calibration said;
	struct site_list plain; /* VERDICT_WRONG: the file's sites without cheap exits; sites_free */
};

/* At once: until the helper has ended or was given up, two seconds at most. Takes what it gives of o's sites. */
void verdict_now(struct verdict_order *o, struct verdict_on *out);
/* Not its descriptor. */
void verdict_order_free(struct verdict_order *o);

struct verdicts;

/* NULL without memory or descriptors. */
struct verdicts *verdicts_new(void);
/* Gives up the helper at work, if any. */
void verdicts_free(struct verdicts *v);
/* Readable when there is something to take. */
int verdicts_fd(const struct verdicts *v);
/* Takes o's sites, and copies the descriptor. 0 or -errno: then nothing is taken, and nothing will come. */
int verdicts_ask(struct verdicts *v, const struct verdict_order *o);
/* False when there is none. What *out has is the caller's. */
bool verdicts_take(struct verdicts *v, struct verdict_on *out);

#endif
