/* SPDX-License-Identifier: Apache-2.0 */
/* profiles/header: what a profile says about the recording as a whole. Private to profiles/. */
#ifndef ALYS_PROFILES_HEADER_H
#define ALYS_PROFILES_HEADER_H

#include "format/format.h"

struct profile_header {
	uint64_t time_ns, duration_ns; /* time: start of the recording, or its end with options.moment; since 1970 */
	uint64_t mono_ns;              /* the same time on CLOCK_MONOTONIC */
	int64_t period;                /* bytes from one sample to the next; 1 = every call */
	struct buf comments;           /* cleaned lines, each with a newline */
};

/* 0 or -ENOMEM. */
int profile_header_fill(const struct sink_input *in, struct profile_header *out);
/* The next line of the comments from *at on, cut off with a NUL; NULL after the last. */
char *profile_header_next(struct profile_header *h, size_t *at);
void profile_header_free(struct profile_header *h);

#endif
