/*
 * session/report: a question about a recorded trace, or about a process while it runs (see
 * watching.h), through the model into a table or a page.
 */
#include "session/session.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "session/output.h"
#include "session/replay.h"
#include "session/symbolize.h"
#include "session/watching.h"

static uint64_t after(uint64_t start_ns, double seconds)
{
	return start_ns + (uint64_t)(seconds * 1e9);
}

/* What the recording has to say about the interval asked for: nothing, in one sentence. */
static int check_interval(const struct replay *r, const struct report_request *o, const struct snapshot *s,
			  struct err *err)
{
	double length = r->health.last_ns > replay_start_ns(r) ?
				(double)(r->health.last_ns - replay_start_ns(r)) / 1e9 : 0;
	if (s->facts.events || (!o->until && !o->at))
		return 0;
	if (o->until)
		return err_set(err, ENOENT, "no event between %g s and %g s: the recording lasts %.1f s", o->from, o->until,
			       length);
	return err_set(err, ENOENT, "no event up to %g s: the recording lasts %.1f s", o->at, length);
}

static int replay(struct replay *r, const struct report_request *o, unsigned int needs, struct snapshot **out,
		  struct err *err)
{
	heap_watch(r->heap, needs);
	if (o->until)
		r->from_ns = after(replay_start_ns(r), o->from);
	if (o->until || o->at)
		r->until_ns = after(replay_start_ns(r), o->until ?: o->at);
	int rc = replay_events(r, NULL, NULL, err);
	if (rc)
		return rc;
	*out = heap_snapshot(r->heap);
	if (!*out)
		return err_set(err, ENOMEM, "out of memory");
	rc = check_interval(r, o, *out, err);
	if (rc)
		snapshot_free(*out);
	return rc;
}

static int write_table(struct replay *r, const struct report_request *o, struct err *err)
{
	struct snapshot *snap;
	int rc = replay(r, o, report_needs(&o->report), &snap, err);
	if (rc)
		return rc;
	struct report_input in = { r->catalog, snap, replay_start_ns(r) };
	struct output dst = { .fd = STDOUT_FILENO };
	struct sink_out out = output_sink(&dst);
	rc = output_finish(&dst, report_render(&in, &o->report, &out, err), err);
	snapshot_free(snap);
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
	if (o->symbolize)
		rc = symbolize_binary(r.catalog, o->symbolize, err);
	if (!rc)
		rc = write_table(&r, o, err);
	replay_close(&r);
	return rc;
}

/* The page has its own ways to choose: it is one of the formats of convert. */
static int write_page(const struct report_request *o, struct err *err)
{
	const struct convert_options c = {
		.input = o->input,
		.output = o->html,
		.format = "html",
		.symbolize = o->symbolize,
		.force = o->force,
		.keep_allocator_frames = o->report.keep_allocator_frames,
	};
	return session_convert(&c, err);
}

int session_report(const struct report_request *o, struct err *err)
{
	signal(SIGPIPE, SIG_IGN);
	if (!o->input)
		return watching_report(o, err);
	if (o->html)
		return write_page(o, err);
	int rc = report_file(o, err);
	return !rc ? EXIT_OK : rc == -ENOENT || rc == -ENODATA ? EXIT_NOTHING : EXIT_ERROR;
}
