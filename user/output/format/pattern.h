/* SPDX-License-Identifier: Apache-2.0 */
/* format/pattern: regular expressions on frames: function as shown, file or library. For sink/, report/ and cli/. */
#ifndef ALYS_FORMAT_PATTERN_H
#define ALYS_FORMAT_PATTERN_H

#include <regex.h>

#include "format/sink.h"

/* option: named in the error if text is not a regular expression. Free with regfree. */
int pattern_compile(regex_t *to, const char *option, const char *text, struct err *err);
/* name: the result of sink_frame_name. */
bool pattern_matches(const regex_t *r, const struct sink_frame *f, const char *name);

#endif
