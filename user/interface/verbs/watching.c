/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs/watching: see watching.h. Records like verbs/record, but applies the events to a heap, which is reported at intervals
 * and at the end.
 */
#include "verbs/watching.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/log.h"
#include "heapreader/heapreader.h"
#include "mallocview/mallocview.h"
#include "naming/finish.h"
#include "recorder/metadata.h"
#include "sink/output.h"
#include "verbs/recording.h"
#include "verbs/verbs.h"

struct watching {
	const struct report_request *o;
	struct report_options report;
	struct heap *heap;
	struct live *live; /* set when it has been opened */
	struct consumer out;
	uint64_t next_ns;
	uint64_t wait_ns; /* the first collection after this time is awaited; UINT64_MAX = none */
	bool collected;   /* that collection has happened: later events are ignored */
	bool done;
};

static int take_event(void *ctx, const struct event *e)
{
	struct watching *w = ctx;
	if (w->collected)
		return 0;
	/* heap_sz is 0 if the marks could not be read. */
	w->collected = e->kind == EVENT_GC && e->enter_ns >= w->wait_ns && e->gc.heap_sz;
	return heap_apply(w->heap, e, NULL);
}

/* Starts waiting for a collection after --duration. */
static void await_collection(struct watching *w, uint64_t now)
{
	uint64_t from = w->live->started_ns + (uint64_t)(w->o->duration * 1e9);
	if (!w->o->gc_wait || now < from)
		return;
	if (w->wait_ns == UINT64_MAX) {
		w->wait_ns = from;
		log_warn("waiting for a collection, which cannot be triggered from outside; a Crystal program with "
			 "Signal::USR1.trap { GC.collect } collects on `kill -USR1 %u`",
			 w->o->report.pid);
	}
	w->done = w->collected || now >= from + (uint64_t)(w->o->gc_wait * 1e9);
	if (w->done && !w->collected)
		log_warn("no collection within %g s: some of what is in use may be garbage", w->o->gc_wait);
}

/* Separates successive reports. None in TSV and JSON, which programs read by first line and object by object. */
static void put_heading(const struct watching *w, double seconds, struct sink_out *out)
{
	char line[64];
	bool markdown = w->report.format == FORMAT_MARKDOWN;
	if (!w->o->every || (w->report.format != FORMAT_TEXT && !markdown))
		return;
	int n = snprintf(line, sizeof(line), markdown ? "\nAfter %.1f s:\n\n" : "\n--- after %.1f s ---\n", seconds);
	out->write(out->ctx, line, (size_t)n);
}

static int print_report(struct watching *w, const struct live *l, uint64_t now, struct err *err)
{
	struct snapshot *snap = heap_snapshot_aged(w->heap, leave_out_from(&w->o->older, l->started_ns, now));
	struct buf aside = { 0 };
	if (!snap)
		return err_set(err, ENOMEM, "out of memory");
	struct report_input in = { .catalog = l->h.catalog, .snapshot = snap, .start_ns = l->started_ns, .aside = &aside };
	struct output dst = { .fd = STDOUT_FILENO };
	struct sink_out out = output_sink(&dst);
	put_heading(w, (double)(now - l->started_ns) / 1e9, &out);
	int rc = output_finish(&dst, report_render(&in, &w->report, &out, err), err);
	if (!rc && aside.len)
		log_warn("%s", buf_str(&aside));
	buf_free(&aside);
	snapshot_free(snap);
	return rc;
}

static void tick(void *ctx, uint64_t now)
{
	struct watching *w = ctx;
	struct live *l = w->live;
	struct err err = { 0 };
	uint64_t every = (uint64_t)(w->o->every * 1e9);
	await_collection(w, now);
	if (!every)
		return;
	if (!w->next_ns)
		w->next_ns = l->started_ns + every;
	if (now < w->next_ns)
		return;
	metadata_liveness(l);
	metadata_windows(l);
	live_settle(l, now);
	metadata_memory(l);
	if (finish_symbols(&l->h, &err) || print_report(w, l, now, &err))
		log_warn("%s", err.text);
	/* If a report took longer than the interval, skip the missed ones. */
	now = now_ns();
	if (w->next_ns <= now)
		w->next_ns += ((now - w->next_ns) / every + 1) * every;
}

static int is_done(void *ctx)
{
	return ((const struct watching *)ctx)->done;
}

static int begin(void *ctx, struct live *l, struct err *err)
{
	struct watching *w = ctx;
	(void)err;
	w->live = l;
	w->out = (struct consumer){ .ctx = w, .event = take_event, .tick = tick, .done = is_done };
	l->h.out = &w->out;
	return 0;
}

static int complete(void *ctx, const struct live *l, struct err *err)
{
	struct watching *w = ctx;
	if (!w->o->heap)
		return print_report(w, l, l->stopped_ns, err);
	const struct report_input in = { .catalog = l->h.catalog, .start_ns = l->started_ns };
	const struct recorded_heap recorded = { w->heap, &in };
	const struct census_options accounts = { .report = w->o->report, .heap = true };
	return mallocview_after_recording(&accounts, &recorded);
}

/* There is exactly one target, so pids need not be matched. */
static int run(struct watching *w, struct err *err)
{
	const struct recording_end end = { .ctx = w, .open = begin, .complete = complete };
	uint32_t pid = w->o->report.pid;
	struct record_options r = RECORD_DEFAULTS;
	r.pids = &pid;
	r.pids_cnt = 1;
	r.duration = w->o->gc_wait ? 0 : w->o->duration;
	r.no_free_stacks = true;
	r.subjects = w->o->shown ? (1u << (w->o->shown - 1)) & ~(1u << SUBJECT_ALLOCATIONS) : 0;
	r.interval = w->o->interval ?: record_has(&r, SUBJECT_PAGES) ? PAGE_INTERVAL : 0;
	r.max_overhead = w->o->max_overhead;
	r.no_frees = w->o->no_frees;
	r.own = w->o->own;
	r.words = w->o->words;
	r.live = true;
	return recording_run(&r, &end, err);
}

static int find_collector(uint32_t tgid, struct err *err)
{
	struct heapreader_place place;
	struct heapreader *r = heapreader_new(false, err);
	int rc = r ? heapreader_find(r, tgid, &place, err) : 0;
	heapreader_free(r);
	return rc;
}

/* Fails early if the report needs a collector that the process does not have. Other errors are left to the recording. */
static bool lacks_collector(const struct report_request *o, struct err *err)
{
	struct err why = { 0 };
	if (!o->gc_wait || find_collector(o->report.pid, &why) != -ENOENT)
		return false;
	err_set(err, ENOENT, "--live: %s", why.text);
	return true;
}

int watching_report(const struct report_request *o, struct err *err)
{
	if (lacks_collector(o, err))
		return EXIT_NOTHING;
	struct watching w = { .o = o, .report = o->report, .heap = heap_new(), .wait_ns = UINT64_MAX };
	if (!w.heap) {
		err_set(err, ENOMEM, "out of memory");
		return EXIT_ERROR;
	}
	/* No filter by pid: the recording has one process, and its later exec generations count, too. */
	w.report.pid = 0;
	heap_watch(w.heap, report_needs(&w.report) | (o->older.number ? HEAP_LEFT : 0));
	int status = run(&w, err);
	heap_free(w.heap);
	return status;
}
