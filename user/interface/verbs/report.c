/* SPDX-License-Identifier: Apache-2.0 */
/* verbs/report: reports on a trace, or on a running process (see watching.h), as a table or an HTML page. */
#include "base/exit_status.h"
#include "mallocview/mallocview.h"
#include "verbs/verbs.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/log.h"
#include "naming/symbolize.h"
#include "replay/replay.h"
#include "report/collection_table.h"
#include "sink/output.h"
#include "verbs/watching.h"

/* Of the part that is reported on; after replay_events. */
static uint64_t end_ns(const struct replay *r)
{
	uint64_t end = replay_start_ns(r) + (uint64_t)(replay_length_s(r) * 1e9);
	return r->until_ns && r->until_ns < end ? r->until_ns : end;
}

static int replay(struct replay *r, const struct report_request *o, unsigned int needs, struct snapshot **out, struct err *err)
{
	heap_watch(r->heap, needs | (o->older.number ? HEAP_LEFT : 0));
	replay_limit(r, o->from, o->until);
	int rc = replay_events(r, NULL, NULL, err);
	if (rc)
		return rc;
	*out = heap_snapshot_aged(r->heap, leave_out_from(&o->older, r->from_ns ?: replay_start_ns(r), end_ns(r)));
	return *out ? 0 : err_set(err, ENOMEM, "out of memory");
}

static int write_table(struct replay *r, const struct report_request *o, struct err *err)
{
	struct snapshot *snap;
	struct buf aside = { 0 };
	int rc = replay(r, o, report_needs(&o->report), &snap, err);
	if (rc)
		return rc;
	struct report_input in = {
		.catalog = r->catalog,
		.snapshot = snap,
		.start_ns = replay_start_ns(r),
		.part = o->from || o->until,
		.aside = &aside,
	};
	struct output dst = { .fd = STDOUT_FILENO };
	struct sink_out out = output_sink(&dst);
	rc = output_finish(&dst, report_render(&in, &o->report, &out, err), err);
	if (!rc && aside.len)
		log_warn("%s", buf_str(&aside));
	buf_free(&aside);
	snapshot_free(snap);
	return rc;
}

static int note_collection(void *ctx, const struct event *e, const struct applied *a)
{
	return collections_note(ctx, e, a);
}

static int write_collections(struct replay *r, const struct report_request *o, struct err *err)
{
	struct collection_list list = { 0 };
	replay_limit(r, o->from, o->until);
	int rc = replay_events(r, note_collection, &list, err);
	struct snapshot *snap = rc ? NULL : heap_snapshot(r->heap);
	if (!rc && !snap)
		rc = err_set(err, ENOMEM, "out of memory");
	struct report_input in = { .catalog = r->catalog, .snapshot = snap, .start_ns = replay_start_ns(r) };
	struct output dst = { .fd = STDOUT_FILENO };
	struct sink_out out = output_sink(&dst);
	if (!rc)
		rc = output_finish(&dst, report_collections(&in, &list, &o->report, &out, err), err);
	snapshot_free(snap);
	collection_list_free(&list);
	return rc;
}

static int report_file(const struct report_request *o, struct err *err)
{
	struct replay r;
	int rc = replay_open(&r, o->input, err);
	if (rc)
		return rc;
	struct buf damage = { 0 };
	if (replay_damage(&r, &damage))
		log_warn("%s", buf_str(&damage));
	buf_free(&damage);
	rc = replay_show(&r, o->shown, err) ?: symbolize_trace(r.catalog, &o->names, err);
	if (!rc)
		rc = o->collections ? write_collections(&r, o, err) : write_table(&r, o, err);
	replay_close(&r);
	return rc;
}

/* The HTML report is one of convert's formats. */
static int write_page(const struct report_request *o, struct err *err)
{
	const struct convert_options c = {
		.input = o->input,
		.output = o->html,
		.format = "html",
		.names = o->names,
		.shown = o->shown,
		.from = o->from,
		.until = o->until,
		.force = o->force,
		.keep_allocator_frames = o->report.keep_allocator_frames,
		.skip = o->report.skip,
	};
	return run_convert(&c, err);
}

int run_report(const struct report_request *o, struct err *err)
{
	signal(SIGPIPE, SIG_IGN);
	if (o->heap && !o->duration) {
		const struct census_options accounts = { .report = o->report, .heap = true };
		return run_census(&accounts, err);
	}
	if (!o->input)
		return watching_report(o, err);
	if (o->html)
		return write_page(o, err);
	int rc = report_file(o, err);
	return !rc ? EXIT_OK : rc == -ENOENT || rc == -ENODATA ? EXIT_NOTHING : EXIT_ERROR;
}
