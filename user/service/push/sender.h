/* SPDX-License-Identifier: Apache-2.0 */
/* push/sender: the thread that talks to the server, and the queue of what waits for it. Not for other modules. */
#ifndef ALYS_PUSH_SENDER_H
#define ALYS_PUSH_SENDER_H

#include "base/err.h"
#include "push/options.h"
#include "push/parcel.h"

/* What became of profiles; under the sender's lock. */
struct push_counts {
	uint64_t sent, retries;
	uint64_t overflowed; /* dropped, oldest first, because the queue was full */
	uint64_t refused;    /* the server wants none such */
	uint64_t failed;     /* the source had no profile, or memory ran out */
};

struct sender;
struct sender *sender_new(enum push_kind kind, const struct push_options *o, struct err *err);
/* Any thread; the parcel is the sender's from then on. */
void sender_offer(struct sender *s, struct parcel *p);
void sender_note_failed(struct sender *s);
void sender_counts(struct sender *s, struct push_counts *out, size_t *waiting, size_t *bytes);
void sender_end(struct sender *s); /* gives the queue a second */

#endif
