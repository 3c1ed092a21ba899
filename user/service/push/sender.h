/* SPDX-License-Identifier: Apache-2.0 */
/* push/sender: the thread that talks to the server, and its queue. Private to this module. */
#ifndef ALYS_PUSH_SENDER_H
#define ALYS_PUSH_SENDER_H

#include "base/err.h"
#include "push/destination.h"
#include "push/payload.h"
#include "push/backend.h"

/* How much is said of a failure, with the server's own words. */
#define SENDER_TEXT_MAX 400

/* Outcomes of profiles; protected by the sender's lock. */
struct push_counts {
	uint64_t sent, retries;
	uint64_t overflowed;               /* dropped, oldest first, because the queue was full */
	uint64_t refused;                  /* rejected by the server */
	uint64_t rejected;                 /* OTLP profiles refused in requests that were taken otherwise */
	uint64_t failed;                   /* the source had no profile, or out of memory */
	char trouble[SENDER_TEXT_MAX + 1]; /* why the last attempt did not succeed fully; "" = it did */
};

struct sender;
struct sender *sender_new(const struct push_options *o, struct err *err);
const struct push_backend *sender_backend(const struct sender *s);
/* Any thread; takes the payload. */
void sender_offer(struct sender *s, struct payload *p);
void sender_note_failed(struct sender *s);
void sender_counts(struct sender *s, struct push_counts *out, size_t *waiting, size_t *bytes);
void sender_end(struct sender *s); /* allows the queue a second */

#endif
