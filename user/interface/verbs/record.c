/* SPDX-License-Identifier: Apache-2.0 */
/* verbs/record: records to a file: a trace, or another format converted from one. */
#include "verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "access/outfile.h"
#include "base/exit_status.h"
#include "base/log.h"
#include "base/text.h"
#include "mallocview/mallocview.h"
#include "sink/registry.h"
#include "trace/trace.h"
#include "verbs/older_blocks.h"
#include "verbs/recording.h"

struct recorded_file {
	const struct record_options *o;
	struct trace_writer *writer;
	struct consumer out;
	struct older_blocks older; /* with --census */
	char trace_path[4096];
	char output[4096];
	bool converts; /* the trace is temporary, the output another format */
};

static void name_output(struct recorded_file *r, const struct record_options *o, const char *ext)
{
	bool streams = o->output && outfile_is_stdout(o->output);
	char stamp[64];
	time_t now = time(NULL);
	struct tm tm;
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
	if (o->output)
		snprintf(r->output, sizeof(r->output), "%s", o->output);
	else
		snprintf(r->output, sizeof(r->output), "%s%s", stamp, ext);
	/* The temporary trace is in the output's directory, so that a full disk is detected during the recording. */
	if (r->converts)
		snprintf(r->trace_path, sizeof(r->trace_path), "%.4000s.alys-%d", streams ? stamp : r->output, (int)getpid());
	else
		snprintf(r->trace_path, sizeof(r->trace_path), "%s", r->output);
}

static void forget_trace(const struct recorded_file *r)
{
	if (!outfile_is_stdout(r->trace_path))
		unlink(r->trace_path);
}

/* Tests now whether the output file can be created, rather than after the recording. */
static int try_output(const struct recorded_file *r, struct err *err)
{
	struct outfile only_tried;
	int rc = outfile_begin(&only_tried, r->output, r->o->force, err);
	if (!rc)
		outfile_abort(&only_tried);
	return rc;
}

static int open_output(void *ctx, struct live *l, struct err *err)
{
	struct recorded_file *r = ctx;
	const struct record_options *o = r->o;
	const struct sink_ops *sink = o->format ? sink_find(o->format) : NULL; /* none: a trace */
	r->converts = sink != NULL;
	name_output(r, o, sink ? sink->ext : ".alys");
	if ((!sink || sink->binary) && outfile_refuse_terminal(r->output, sink ? "this format" : "a trace", err))
		return -err->code;
	int rc = r->converts ? try_output(r, err) : 0;
	if (rc)
		return rc;
	struct trace_clock clock = trace_clock_now();
	int fd = outfile_create(r->trace_path, o->force, err);
	if (fd < 0)
		return fd;
	r->writer = trace_writer_over(fd, &clock, l->h.catalog, err);
	if (!r->writer) {
		outfile_failed(r->trace_path, err->code, err);
		forget_trace(r);
		return -EIO;
	}
	r->out = trace_consumer(r->writer);
	l->h.out = &r->out;
	if (o->census)
		older_blocks_begin(&r->older, l);
	return 0;
}

/* Called with the output closed and complete. */
static void say_result(const struct live *l, const char *path, uint64_t bytes)
{
	struct buf line = { 0 };
	buf_addf(&line, "%.1f s, ", (double)(l->stopped_ns - l->started_ns) / 1e9);
	catalog_ledger_text(l->h.catalog, &line);
	if (!outfile_is_stdout(path)) {
		buf_addf(&line, "; %s (", path);
		text_bytes(&line, (double)bytes);
		buf_u8(&line, ')');
	}
	log_at(LOG_NORMAL, "%s", buf_str(&line));
	buf_free(&line);
}

static uint64_t size_of(const char *path)
{
	struct stat st;
	return lstat(path, &st) ? 0 : (uint64_t)st.st_size;
}

static int convert_trace(const struct recorded_file *r, const struct live *l, struct err *err)
{
	uint64_t size = 0;
	struct convert_options c = {
		.input = r->trace_path,
		.output = r->output,
		.size = &size,
		.format = r->o->format,
		.force = r->o->force,
	};
	int rc = run_convert(&c, err);
	if (rc) {
		say_result(l, r->trace_path, size_of(r->trace_path));
		err_wrap(err, "the recording is kept in %s", r->trace_path);
	} else {
		unlink(r->trace_path);
		say_result(l, r->output, size);
	}
	return rc;
}

/* Completes the trace on disk; err says what is missing. */
static int complete_trace(struct recorded_file *r, const struct live *l, struct err *err)
{
	int rc = trace_writer_close(r->writer, err);
	r->writer = NULL;
	if (rc || !r->converts)
		say_result(l, r->trace_path, size_of(r->trace_path));
	if (rc && outfile_is_stdout(r->trace_path))
		return outfile_failed(NULL, -rc, err);
	if (rc)
		err_wrap(err, "%s is incomplete, but readable up to there", r->trace_path);
	return rc;
}

static int complete(void *ctx, const struct live *l, struct err *err)
{
	struct recorded_file *r = ctx;
	int rc = complete_trace(r, l, err);
	return rc || !r->converts ? rc : convert_trace(r, l, err);
}

/* If the recording never started, the empty trace is removed. */
static void close_output(void *ctx)
{
	struct recorded_file *r = ctx;
	older_blocks_free(&r->older);
	if (!r->writer)
		return;
	trace_writer_close(r->writer, NULL);
	forget_trace(r);
}

int run_record(const struct record_options *o, struct err *err)
{
	struct recorded_file r = { .o = o };
	if (o->census && mallocview_find(o->pids[0]) == -ENOENT)
		return EXIT_NOTHING;
	const struct recording_end end = { .ctx = &r, .open = open_output, .complete = complete, .close = close_output };
	return recording_run(o, &end, err);
}
