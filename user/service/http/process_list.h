/* SPDX-License-Identifier: Apache-2.0 */
/* http/process_list: the traced processes as a sorted list, for pages. Private to this module. */
#ifndef ALYS_HTTP_PROCESS_LIST_H
#define ALYS_HTTP_PROCESS_LIST_H

#include "http/request.h"
#include "http/source.h"

#define PROCESS_LIST_HISTORY 60

/* A copy of a struct http_process; texts are truncated, not cleaned. */
struct process_list_entry {
	uint32_t pid;
	char comm[17], exe[257], build_id[65];
	char *attributes; /* NULL = none */
	double live_bytes, live_error, live_below, alloc_rate;
	uint64_t recorded, lost;
	char lost_by[160];
	double history[PROCESS_LIST_HISTORY]; /* the newest */
	size_t history_cnt;
	double history_step_s, resident_bytes, traced_s;
};

struct process_list {
	uint32_t pid;                  /* only this one; 0 = all */
	struct process_list_entry *at; /* after process_list_read: most live bytes first, then by pid */
	size_t at_cnt, at_cap;
	double live_bytes; /* total */
};

int process_list_read(struct process_list *r, const struct http_source *s); /* 0 or -errno; then process_list_free */
/* Sorts by a column of the page: see http/request.h. */
void process_list_sort(struct process_list *r, enum request_sort by, bool turned);
void process_list_free(struct process_list *r);

#endif
