/* SPDX-License-Identifier: Apache-2.0 */
/* report/group: groups a snapshot's rows as the options request. Private to this module. */
#ifndef ALYS_REPORT_GROUP_H
#define ALYS_REPORT_GROUP_H

#include "format/call_counts.h"
#include "format/field_names.h"
#include "report/frames.h"

struct group {
	uint32_t label; /* in groups.labels; a stack has one frame per line */
	double cnt, sz;
	struct spread off; /* of sz, when sampled */
	double of_cnt;     /* allocations that cnt is a part of (temporary) */
	double calls;      /* of the function, if has_calls */
	bool has_calls;
};

struct groups {
	const struct report_input *in;
	const struct report_options *o;
	enum report_by by;
	enum report_show show;
	struct names labels;
	struct group *at; /* as many as labels until sorted, at[label] */
	size_t at_cnt, at_cap;
	struct growth_row *growth; /* with SHOW_LEAKED, growth[label] */
	size_t growth_cnt, growth_cap;
	struct lifetime_row *lives; /* with SHOW_FREED, lives[label] */
	size_t lives_cnt, lives_cap;
	struct group all;   /* every selected row once */
	struct group young; /* selected rows that are left out */
	bool counts_calls;  /* functions with their calls */
	bool all_called;    /* calls are known of all that has bytes: the total has bytes per call */
	struct calls calls;
};

/* 0 or -errno; then groups_free. */
int groups_fill(struct groups *g, const struct report_input *in, const struct report_options *o, struct err *err);
/* The same, with calls of functions where they were counted. */
int groups_fill_called(struct groups *g, const struct report_input *in, const struct report_options *o, struct err *err);
/* The same for a comparison, in which one side may be empty. */
int groups_fill_side(struct groups *g, const struct report_input *in, const struct report_options *o, struct err *err);
void groups_free(struct groups *g);

/* The grouping if the options do not say: depends on the recording. */
enum report_by report_by_of(const struct report_options *o);

/* "<1s:3 <10s:5" */
void ages_text(const double ages[AGE_CNT], struct buf *out);

#endif
