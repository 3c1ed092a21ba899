/* push/parcel: one profile as a server takes it, and the queue of those. Not for other rooms. */
#ifndef ALYS_PUSH_PARCEL_H
#define ALYS_PUSH_PARCEL_H

#include <pthread.h>

#include "http/later.h"
#include "push/push.h"

enum push_kind { PUSH_PYROSCOPE, PUSH_PARCA };

/* Whose profile; texts are cut, not cleaned. */
struct parcel_who {
	uint32_t pid;
	char comm[17];
};

struct parcel {
	struct parcel *next;
	struct buf body;
};

/*
 * One series with the labels of `who`: JSON for Pyroscope, a message of gRPC for Parca, which answers to nothing
 * else. NULL when memory is out.
 */
struct parcel *parcel_new(enum push_kind kind, const struct parcel_who *who, const struct buf *pprof);
void parcel_free(struct parcel *p);

/* What became of profiles; under the sender's lock. */
struct push_counts {
	uint64_t sent, retries;
	uint64_t overflowed; /* dropped, oldest first, because the queue was full */
	uint64_t refused;    /* the server wants none such */
	uint64_t failed;     /* the source had no profile, or memory ran out */
};

/*
 * The thread that talks to the server, and its queue. Any thread may offer; the parcel is the sender's
 * from then on.
 */
struct sender;
struct sender *sender_new(enum push_kind kind, const struct push_options *o, struct err *err);
void sender_offer(struct sender *s, struct parcel *p);
void sender_note_failed(struct sender *s);
void sender_counts(struct sender *s, struct push_counts *out, size_t *waiting, size_t *bytes);
void sender_end(struct sender *s); /* gives the queue a second */

#endif
