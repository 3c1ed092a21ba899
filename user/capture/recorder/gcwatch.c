/* SPDX-License-Identifier: Apache-2.0 */
/* recorder/gcwatch: see gcwatch.h. */
#include "recorder/gcwatch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "catalog/consumer.h"
#include "probe/probe.h"

/* type NULL: resets all known types of the process, before the current ones are reported. */
static int on_older(void *ctx, struct proc_id proc, const char *type, uint64_t cnt, uint64_t bytes)
{
	struct catalog *c = ((const struct gc_watch *)ctx)->h->catalog;
	const struct older *was;
	struct older row = { proc, type, cnt, bytes };
	int rc = type ? catalog_put_older(c, &row) : 0;
	for (size_t i = 0; !type && !rc && (was = catalog_next_older(c, &i));) {
		row.type = was->type;
		rc = was->proc.n == proc.n ? catalog_put_older(c, &row) : 0;
	}
	return rc;
}

/* Exec starts a new heap, and our own command was stopped until we were ready; a child inherits its parent's heap. */
static enum heap_origin origin(void *ctx, struct proc_id proc)
{
	const struct handles *h = ((const struct gc_watch *)ctx)->h;
	const struct proc *p = catalog_proc(h->catalog, proc);
	if (p && p->generation)
		return ORIGIN_RECORDING;
	if (p && p->parent.n)
		return ORIGIN_PARENT;
	return h->o->command ? ORIGIN_RECORDING : ORIGIN_BEFORE;
}

static void on_event(void *ctx, const struct event *e)
{
	const struct gc_watch *g = ctx;
	g->event(g->ctx, e);
}

static enum exactness_part recorded_part(const struct record_options *o)
{
	return o->interval ? PART_SAMPLED : o->min_size ? PART_RECORDED : PART_ALL;
}

int gcwatch_add(struct gc_watch *g, uint32_t tgid, struct err *err)
{
	const struct record_options *o = g->h->o;
	struct liveness_ops ops = { .ctx = g, .event = on_event, .older = on_older, .origin = origin, .part = recorded_part(o) };
	if (!g->marks)
		g->marks = marks_new(g->h->probe, o->stop_at_gc, !ops.part, err);
	if (!g->marks)
		return -err->code;
	if (!g->liveness)
		g->liveness = liveness_new(g->marks, &ops);
	if (!g->liveness)
		return err_set(err, ENOMEM, "out of memory");
	marks_watch(g->marks, tgid);
	marks_settle(g->marks, tgid);
	return 0;
}

void gcwatch_unseen(struct gc_watch *g, const struct proc *p, const struct unseen *u, bool flagged)
{
	struct err err = { 0 };
	if (gcwatch_add(g, p->tgid, &err) || liveness_unseen(g->liveness, p, u, flagged)) {
		g->unseen = (struct exactness_heaps){ 0 };
		exactness_note(&g->unseen, 0, NULL, u);
	}
}

void gcwatch_gone(struct gc_watch *g, struct proc_id proc, uint32_t tgid, uint64_t time_ns)
{
	if (g->liveness)
		liveness_gone(g->liveness, proc, time_ns);
	/* Its collector may be known even if nothing of its heap was recorded. */
	if (g->marks)
		marks_forget(g->marks, tgid, time_ns);
}

int gcwatch_event(struct gc_watch *g, uint32_t tgid, const struct event *e)
{
	return g->liveness ? liveness_event(g->liveness, tgid, e) : 0;
}

int gcwatch_collection(struct gc_watch *g, const struct intake_collection *c, const struct event *e)
{
	return g->liveness ? liveness_collection(g->liveness, c, e) : 0;
}

int gcwatch_read_until(struct gc_watch *g, uint64_t time_ns)
{
	return g->liveness ? liveness_read_until(g->liveness, time_ns) : 0;
}

bool gcwatch_none_live(const struct gc_watch *g)
{
	return g->marks && marks_none_left(g->marks);
}

void gcwatch_poll(struct gc_watch *g, uint64_t now_ns)
{
	if (g->liveness)
		liveness_poll(g->liveness, now_ns, g->no_room);
}

void gcwatch_count(struct gc_watch *g)
{
	struct probe_stats s;
	if (g->liveness && !probe_stats(g->h->probe, &s))
		g->no_room = s.n[ALYS_ST_GC_NO_ROOM];
}

void gcwatch_report_older(struct gc_watch *g, uint64_t now_ns, bool over)
{
	const struct older *o;
	if (g->liveness)
		liveness_report_older(g->liveness, now_ns, over);
	for (size_t i = 0; (o = catalog_next_older(g->h->catalog, &i));)
		consumer_define(g->h->out, &(struct definition){ DEFINITION_OLDER, .older = o });
}

void gcwatch_exactness(struct gc_watch *g, bool collected, struct exactness *out)
{
	struct probe_stats s = { 0 };
	*out = (struct exactness){ 0 };
	if (collected && g->unseen.cnt)
		*out = (struct exactness){ .state = EXACTNESS_NONE, .unjudged = g->unseen };
	else if (g->liveness)
		liveness_exactness(g->liveness, probe_stats(g->h->probe, &s) ? 0 : s.n[ALYS_ST_LOST_GC], out);
}

void gcwatch_free(struct gc_watch *g)
{
	liveness_free(g->liveness);
	marks_free(g->marks);
	*g = (struct gc_watch){ 0 };
}
