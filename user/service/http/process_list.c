/* SPDX-License-Identifier: Apache-2.0 */
/* http/process_list: see process_list.h. */
#include "http/process_list.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* Ratios of unmeasured values are NaN or infinite. */
static double sane(double v)
{
	return isfinite(v) ? v : 0;
}

static void copy_history(struct process_list_entry *e, const struct http_process *p)
{
	size_t n = p->history ? p->history_cnt : 0;
	const double *from = p->history;
	if (n > PROCESS_LIST_HISTORY) {
		from += n - PROCESS_LIST_HISTORY;
		n = PROCESS_LIST_HISTORY;
	}
	for (size_t i = 0; i < n; i++)
		e->history[i] = sane(from[i]);
	e->history_cnt = n;
}

static int add(void *ctx, const struct http_process *p)
{
	struct process_list *r = ctx;
	if (r->pid && p->pid != r->pid)
		return 0;
	struct process_list_entry *e = VEC_PUSH(r, at);
	if (!e)
		return -ENOMEM;
	e->pid = p->pid;
	memcpy(e->comm, p->comm, sizeof(p->comm));
	memcpy(e->exe, p->exe, sizeof(p->exe));
	e->live_bytes = sane(p->live_bytes);
	e->live_error = sane(p->live_error);
	e->live_below = sane(p->live_below);
	e->alloc_rate = sane(p->alloc_rate);
	e->recorded = p->recorded;
	e->lost = p->lost;
	if (p->lost_by)
		strncpy(e->lost_by, p->lost_by, sizeof(e->lost_by) - 1);
	e->attributes = p->attributes && *p->attributes ? strdup(p->attributes) : NULL;
	if (p->build_id)
		strncpy(e->build_id, p->build_id, sizeof(e->build_id) - 1);
	copy_history(e, p);
	e->history_step_s = sane(p->history_step_s);
	e->resident_bytes = sane(p->resident_bytes);
	e->traced_s = sane(p->traced_s);
	r->live_bytes += e->live_bytes;
	return 0;
}

static double value_of(const struct process_list_entry *e, enum request_sort by)
{
	switch (by) {
	case SORT_RSS: return e->resident_bytes;
	case SORT_RATE: return e->alloc_rate;
	case SORT_SINCE: return e->traced_s;
	case SORT_RECORDED: return (double)e->recorded;
	case SORT_LOST: return (double)e->lost;
	default: return e->live_bytes;
	}
}

struct order {
	enum request_sort by;
	bool turned;
};

/* Names and pids ascending, everything else descending; ties by live bytes. */
static int compare(const void *a, const void *b, void *ctx)
{
	const struct order *o = ctx;
	const struct process_list_entry *x = a, *y = b;
	double vx = value_of(x, o->by), vy = value_of(y, o->by);
	int by_pid = x->pid < y->pid ? -1 : x->pid > y->pid;
	int order = o->by == SORT_PROGRAM ? strncmp(x->comm, y->comm, sizeof(x->comm))
		    : o->by == SORT_PID   ? by_pid
					  : (vx < vy) - (vx > vy);
	order = o->turned ? -order : order;
	order = order ? order : (x->live_bytes < y->live_bytes) - (x->live_bytes > y->live_bytes);
	return order ? order : by_pid;
}

void process_list_sort(struct process_list *r, enum request_sort by, bool turned)
{
	struct order o = { by, turned };
	if (r->at_cnt)
		qsort_r(r->at, r->at_cnt, sizeof(*r->at), compare, &o);
}

int process_list_read(struct process_list *r, const struct http_source *s)
{
	int rc = s->each_process(s->ctx, add, r);
	if (!rc)
		process_list_sort(r, SORT_LIVE, false);
	return rc;
}

void process_list_free(struct process_list *r)
{
	for (size_t i = 0; i < r->at_cnt; i++)
		free(r->at[i].attributes);
	free(r->at);
	*r = (struct process_list){ 0 };
}
