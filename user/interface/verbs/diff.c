/* SPDX-License-Identifier: Apache-2.0 */
/* verbs/diff: compares two traces. */
#include "base/exit_status.h"
#include "sink/registry.h"
#include "verbs/verbs.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "access/outfile.h"
#include "base/log.h"
#include "replay/replay.h"
#include "sink/output.h"

struct side {
	struct replay replay;
	struct snapshot *snapshot;
	bool open;
};

static int load(struct side *s, const char *path, const struct diff_request *o, unsigned int needs, struct err *err)
{
	int rc = replay_open(&s->replay, path, err);
	if (rc)
		return rc;
	s->open = true;
	struct buf damage = { 0 };
	if (replay_damage(&s->replay, &damage))
		log_warn("%s: %s", path, buf_str(&damage));
	buf_free(&damage);
	heap_watch(s->replay.heap, needs);
	rc = replay_show(&s->replay, o->shown, err) ?: replay_events(&s->replay, NULL, NULL, err);
	s->snapshot = rc ? NULL : heap_snapshot(s->replay.heap);
	return rc || s->snapshot ? rc : err_set(err, ENOMEM, "out of memory");
}

static void unload(struct side *s)
{
	snapshot_free(s->snapshot);
	if (s->open)
		replay_close(&s->replay);
}

static struct report_input input_of(const struct side *s)
{
	return (struct report_input){
		.catalog = s->replay.catalog,
		.snapshot = s->snapshot,
		.start_ns = replay_start_ns(&s->replay),
		.length_s = replay_length_s(&s->replay),
	};
}

static int write_table(const struct side *sides, const struct diff_request *o, struct err *err)
{
	struct report_input a = input_of(&sides[0]), b = input_of(&sides[1]);
	struct output dst = { .fd = STDOUT_FILENO };
	struct sink_out out = output_sink(&dst);
	return output_finish(&dst, report_diff(&a, &b, &o->report, &out, err), err);
}

/* Chooses the quantity as the table does, considering both traces. */
static int choose_view(const struct side *sides, const struct report_options *o, struct sink_options *out, struct err *err)
{
	struct report_input a = input_of(&sides[0]), b = input_of(&sides[1]);
	enum report_show show = report_show_of(o, &a);
	if (show != SHOW_LIVE && show != SHOW_ALLOC)
		return err_set(err, EINVAL, "--flamegraph compares what is live or was allocated: --show live or --show alloc");
	if (show != report_show_of(o, &b))
		return err_set(err, EINVAL, "one of the recordings does not contain frees: compare with --show alloc");
	bool per_second;
	int rc = report_diff_per_second(&a, &b, o, &per_second, err);
	for (int i = 0; !rc && i < 2; i++) {
		out[i] = (struct sink_options){
			.value = show == SHOW_LIVE ? "inuse_space" : "alloc_space",
			.title = report_diff_title(show, per_second),
			.keep_allocator_frames = o->keep_allocator_frames,
			.skip = &o->skip,
			.seconds = per_second ? (i ? b : a).length_s : 0,
		};
	}
	return rc;
}

/* Differential flame graph: widths from the larger of both, colours by growth. */
static int write_picture(const struct side *sides, const struct diff_request *o, struct err *err)
{
	struct sink_options views[2];
	int rc = choose_view(sides, &o->report, views, err);
	if (rc)
		return rc;
	struct sink_input before = { sides[0].replay.catalog, sides[0].snapshot, NULL, &views[0] };
	views[1].before = &before;
	struct sink_input in = { sides[1].replay.catalog, sides[1].snapshot, NULL, &views[1] };
	struct outfile file;
	rc = outfile_begin(&file, o->flamegraph, o->force, err);
	if (rc)
		return rc;
	struct output dst = { .fd = file.fd, .path = o->flamegraph };
	struct sink_out out = output_sink(&dst);
	rc = output_finish(&dst, sink_find("flamegraph")->render(&in, &out, err), err);
	if (rc)
		outfile_abort(&file);
	else
		rc = outfile_commit(&file, err);
	if (!rc)
		output_say(o->flamegraph, file.size, NULL);
	return rc;
}

int run_diff(const struct diff_request *o, struct err *err)
{
	struct side sides[2] = { 0 };
	unsigned int needs = report_needs(&o->report);
	signal(SIGPIPE, SIG_IGN);
	int rc = load(&sides[0], o->before, o, needs, err);
	if (!rc)
		rc = load(&sides[1], o->after, o, needs, err);
	if (!rc)
		rc = o->flamegraph ? write_picture(sides, o, err) : write_table(sides, o, err);
	unload(&sides[0]);
	unload(&sides[1]);
	return !rc ? EXIT_OK : rc == -ENOENT || rc == -ENODATA ? EXIT_NOTHING : EXIT_ERROR;
}
