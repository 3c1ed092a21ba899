/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format/skip: leaf frames to skip in addition to the allocator's own, so that the allocation site is the code that
 * wanted memory, not a wrapper used everywhere. Zeroed: known wrappers are skipped.
 */
#ifndef ALYS_FORMAT_SKIP_H
#define ALYS_FORMAT_SKIP_H

#include <regex.h>

#include "format/sink.h"

struct calls;

struct skip {
	bool keep_known;
	const struct calls *kept; /* functions that are never skipped, because their calls are counted; NULL = none */
	uint32_t frames;          /* skip this many more, whatever they are */
	regex_t *patterns;
	size_t patterns_cnt, patterns_cap;
};

/* A number of frames (the last one given counts) or a regular expression (all count). */
int skip_add(struct skip *s, const char *option, const char *text, struct err *err);
/* Skips nothing, not even known wrappers, except what is added later. */
void skip_none(struct skip *s);
void skip_free(struct skip *s);
/* Is this frame skipped if it is the leaf? */
bool skip_wants(const struct skip *s, const struct sink_frame *f);
/* Known wrappers: functions that only pass a request on to the allocator. */
bool skip_is_known(const struct sink_frame *f);

#endif
