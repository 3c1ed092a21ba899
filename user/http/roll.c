/* http/roll: see roll.h. */
#include "http/roll.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* A share of what never was measured is no number. */
static double sane(double v)
{
	return isfinite(v) ? v : 0;
}

static void copy_history(struct roll_entry *e, const struct http_process *p)
{
	size_t n = p->history ? p->history_cnt : 0;
	const double *from = p->history;
	if (n > ROLL_HISTORY) {
		from += n - ROLL_HISTORY;
		n = ROLL_HISTORY;
	}
	for (size_t i = 0; i < n; i++)
		e->history[i] = sane(from[i]);
	e->history_cnt = n;
}

static int add(void *ctx, const struct http_process *p)
{
	struct roll *r = ctx;
	if (r->pid && p->pid != r->pid)
		return 0;
	struct roll_entry *e = VEC_PUSH(r, at);
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
	copy_history(e, p);
	r->live_bytes += e->live_bytes;
	return 0;
}

static int larger(const void *a, const void *b)
{
	const struct roll_entry *x = a, *y = b;
	if (x->live_bytes != y->live_bytes)
		return x->live_bytes < y->live_bytes ? 1 : -1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

int roll_read(struct roll *r, const struct http_source *s)
{
	int rc = s->each_process(s->ctx, add, r);
	if (!rc && r->at_cnt)
		qsort(r->at, r->at_cnt, sizeof(*r->at), larger);
	return rc;
}

void roll_free(struct roll *r)
{
	free(r->at);
	*r = (struct roll){ 0 };
}
