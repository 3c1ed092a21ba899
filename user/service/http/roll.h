/* SPDX-License-Identifier: Apache-2.0 */
/* http/roll: the traced processes as a sorted list, for pages. Private to this module. */
#ifndef ALYS_HTTP_ROLL_H
#define ALYS_HTTP_ROLL_H

#include "http/request.h"
#include "http/source.h"

#define ROLL_HISTORY 60

/* A copy of a struct http_process; texts are truncated, not cleaned. */
struct roll_entry {
	uint32_t pid;
	char comm[17], exe[257];
	double live_bytes, live_error, live_below, alloc_rate;
	uint64_t recorded, lost;
	char lost_by[160];
	double history[ROLL_HISTORY]; /* the newest */
	size_t history_cnt;
	double history_step_s, resident_bytes, traced_s;
};

struct roll {
	uint32_t pid;          /* only this one; 0 = all */
	struct roll_entry *at; /* after roll_read: most live bytes first, then by pid */
	size_t at_cnt, at_cap;
	double live_bytes; /* total */
};

int roll_read(struct roll *r, const struct http_source *s); /* 0 or -errno; then roll_free */
/* Sorts by a column of the page: see http/request.h. */
void roll_sort(struct roll *r, enum request_sort by, bool turned);
void roll_free(struct roll *r);

#endif
