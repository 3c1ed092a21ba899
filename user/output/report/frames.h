/* SPDX-License-Identifier: Apache-2.0 */
/* report/frames: frames as text, and filtering of stacks. Private to this module. */
#ifndef ALYS_REPORT_FRAMES_H
#define ALYS_REPORT_FRAMES_H

#include "base/map.h"
#include "format/format.h"
#include "format/pattern.h"
#include "report/report.h"

/* "file:line:column in 'name'", as Crystal prints its backtraces. */
void frame_text(const struct sink_frame *f, struct buf *out);
/* "name  file:line" */
void frame_site(const struct sink_frame *f, struct buf *out);
/* The file, or "[library]" if unknown. */
void frame_file(const struct sink_frame *f, struct buf *out);
void frame_library(const struct sink_frame *f, struct buf *out);

/* --focus and --ignore. Zeroed: accepts all stacks. */
struct filter {
	regex_t focus, ignore;
	bool has_focus, has_ignore;
	struct map known; /* address of a struct symbol -> FILTER_* bits + 1 */
};

int filter_open(struct filter *f, const struct report_options *o, struct err *err);
bool filter_wants(struct filter *f, const struct sink_stack *s);
void filter_close(struct filter *f);

#endif
