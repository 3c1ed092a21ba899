/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format/skip: frames at the leaf that are passed over beyond the allocator's own, so that a site is who wanted memory
 * and not the wrapper through which all of the program asks for it. Zeroed: known wrappers are.
 */
#ifndef ALYS_FORMAT_SKIP_H
#define ALYS_FORMAT_SKIP_H

#include <regex.h>

#include "format/sink.h"

struct skip {
	bool keep_known;
	uint32_t frames; /* then so many more, whatever they are */
	regex_t *patterns;
	size_t patterns_cnt, patterns_cap;
};

/* A number of frames, the last one counts, or a regular expression, all count. */
int skip_add(struct skip *s, const char *option, const char *text, struct err *err);
/* None, known wrappers included, but for what is added from here on. */
void skip_none(struct skip *s);
void skip_free(struct skip *s);
/* Is this frame passed over where it is the leaf? */
bool skip_wants(const struct skip *s, const struct sink_frame *f);
/* The names of wrappers that are known: what they have in common is that they only hand on the request for memory. */
bool skip_is_known(const struct sink_frame *f);

#endif
