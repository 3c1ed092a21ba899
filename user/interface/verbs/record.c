/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs/record: the recording verb from output file to exit line. Everything that can be refused
 * is refused before the first probe goes in.
 */
#include "base/clock.h"
#include "base/exit_status.h"
#include "sink/registry.h"
#include "verbs/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "access/outfile.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/text.h"
#include "format/sink.h"
#include "launch/command.h"
#include "naming/finish.h"
#include "recorder/about.h"
#include "recorder/live.h"
#include "recorder/windows.h"

struct recording {
	struct live live;
	struct command command;
	char trace_path[4096];
	char output[4096];
	bool converts; /* the trace is only a step towards another format */
	int signals;
};

static bool is_trace_format(const char *format)
{
	return !format || !strcmp(format, "alys");
}

static void name_output(struct recording *r, const struct record_options *o, const char *ext)
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
	/* A hidden neighbour, so that a full disk is met where the result will lie. */
	if (r->converts)
		snprintf(r->trace_path, sizeof(r->trace_path), "%.4000s.alys-%d", streams ? stamp : r->output, (int)getpid());
	else
		snprintf(r->trace_path, sizeof(r->trace_path), "%s", r->output);
}

static void forget_trace(const struct recording *r)
{
	if (!outfile_is_stdout(r->trace_path))
		unlink(r->trace_path);
}

static int open_output(struct recording *r, const struct record_options *o, struct err *err)
{
	const struct sink_ops *sink = is_trace_format(o->format) ? NULL : sink_find(o->format);
	if (!is_trace_format(o->format) && !sink)
		return err_set(err, EINVAL,
			       "unknown format \"%s\" for -f: choose alys or one that `alys-bpf convert --help` lists",
			       o->format);
	r->converts = sink != NULL;
	if (!o->tap)
		name_output(r, o, sink ? sink->ext : ".alys");
	if (!o->tap && (!sink || sink->binary) && outfile_refuse_terminal(r->output, sink ? "this format" : "a trace", err))
		return -err->code;
	if (r->converts) {
		/* Found out now rather than after the recording. */
		struct outfile probe_only;
		int rc = outfile_begin(&probe_only, r->output, o->force, err);
		if (rc)
			return rc;
		outfile_abort(&probe_only);
	}
	struct trace_clock clock = about_clock();
	int fd = o->tap ? open("/dev/null", O_WRONLY | O_CLOEXEC) : outfile_create(r->trace_path, o->force, err);
	if (fd < 0)
		return o->tap ? err_set(err, errno, "cannot open /dev/null: %s", strerror(errno)) : fd;
	r->live.h.writer = trace_writer_new(fd, &clock, err);
	if (!r->live.h.writer && !o->tap) {
		outfile_failed(r->trace_path, err->code, err);
		forget_trace(r);
	}
	return r->live.h.writer ? 0 : -EIO;
}

static int open_rooms(struct recording *r, const struct record_options *o, struct err *err)
{
	struct live *l = &r->live;
	if (o->return_probes)
		log_warn("--return-probes: a program whose fibers or exceptions leave an allocator will be killed by them");
	int rc = live_open(l, o, NULL, err);
	if (!rc)
		rc = open_output(r, o, err);
	if (!rc)
		about_begin(l);
	return rc;
}

static int nothing_found(struct live *l, struct err *err)
{
	struct buf searched = { 0 }, closed = { 0 };
	const struct module *m;
	for (size_t i = 0; (m = catalog_next_module(l->h.catalog, &i)) && searched.len < 400;) {
		if (m->path[0] == '/')
			buf_addf(&searched, "%s%s", searched.len ? ", " : "", m->path);
	}
	if (target_closed_files(l->h.targets))
		target_closed_text(l->h.targets, &closed);
	const struct err *failed = &attach_facts(l->attach)->failed;
	int rc = failed->code ? err_set(err, ENOENT, "no allocator could be probed: %s", failed->text)
		 : closed.len
			 ? err_set(err, EACCES, "no allocator found: %s", buf_str(&closed))
			 : err_set(err, ENOENT, "no allocator found in %s: the process may bring its own under other names%s",
				   buf_str(&searched), l->h.o->allocators ? ", or --allocator leaves out the one it uses" : "");
	buf_free(&searched);
	buf_free(&closed);
	return rc;
}

static void on_command_mapped(void *ctx)
{
	struct live *l = ctx;
	const struct proc *p;
	for (size_t i = 0; (p = catalog_next_proc(l->h.catalog, &i));)
		target_read_maps(l->h.targets, p->id, UINT64_MAX, NULL);
}

static bool is_c_library(void *ctx, int fd, const char *path)
{
	return study_starts_programs(((const struct live *)ctx)->study, fd, path);
}

/* Time counts from here, not from when files were searched for what to probe, which takes a second at times. */
static void start(struct live *l)
{
	about_start(l);
	probe_start(l->h.probe);
	l->started_ns = now_ns();
}

static int add_targets(struct recording *r, const struct record_options *o, struct err *err)
{
	struct live *l = &r->live;
	for (size_t i = 0; i < o->pids_cnt; i++) {
		int rc = target_find(l->h.targets, o->pids[i]).n ? 0 : live_add(l, o->pids[i], err);
		if (rc)
			return rc;
	}
	if (!o->command)
		return attach_facts(l->attach)->functions ? 0 : nothing_found(l, err);
	int rc = probe_ready(l->h.probe, err);
	for (int i = 0; i < HOLDERS && !rc; i++)
		rc = holder_start(&l->holders[i], probe_hold_ring_fd(l->h.probe, i), i, err);
	/* What the program prints would be in the middle of it. */
	r->command.stdout_taken = outfile_is_stdout(r->output);
	if (!rc)
		rc = command_spawn(&r->command, o->command, err);
	if (!rc)
		rc = live_add(l, (uint32_t)r->command.pid, err);
	if (!rc)
		rc = probe_add_own(l->h.probe, (uint32_t)r->command.pid, err);
	if (rc)
		return rc;
	probe_allow_holds(l->h.probe);
	/* It stands still, so nothing of it is recorded before its libraries are there. */
	start(l);
	const struct command_ops ops = { .ctx = l, .mapped = on_command_mapped, .is_c_library = is_c_library };
	rc = command_release(&r->command, &ops, err);
	return rc || attach_facts(l->attach)->functions ? rc : nothing_found(l, err);
}

static void end_recording(struct recording *r)
{
	struct live *l = &r->live;
	windows_end(l->windows);
	probe_stop(l->h.probe);
	l->stopped_ns = now_ns();
	probe_detach(l->h.probe, 0);
	live_drain(l);
	probe_settle_calls(l->h.probe);
	live_publish(l, l->stopped_ns);
	about_sampling(l);
	about_end(l);
	trace_tick(l->h.writer, now_ns());
}

/* Of the file that is there now, which was closed. */
static void say_result(const struct recording *r, const char *path, uint64_t bytes)
{
	struct buf line = { 0 };
	const struct live *l = &r->live;
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

static int convert_trace(const struct recording *r, const struct record_options *o, struct err *err)
{
	uint64_t size = 0;
	struct convert_options c = {
		.input = r->trace_path,
		.output = r->output,
		.size = &size,
		.format = o->format,
		.force = o->force,
	};
	int rc = run_convert(&c, err);
	if (rc) {
		say_result(r, r->trace_path, size_of(r->trace_path));
		err_wrap(err, "the recording is kept in %s", r->trace_path);
	} else {
		unlink(r->trace_path);
		say_result(r, r->output, size);
	}
	return rc;
}

/* After this the trace is whole on disk, or err says what is missing of it. */
static int complete_trace(struct recording *r, struct err *err)
{
	struct live *l = &r->live;
	struct err names;
	if (finish_symbols(&l->h, &names))
		log_warn("%s", names.text);
	if (l->h.o->tap)
		return l->h.o->tap->end(l->h.o->tap->ctx, l, err);
	int rc = trace_writer_close(l->h.writer, err);
	l->h.writer = NULL;
	if (rc || !r->converts)
		say_result(r, r->trace_path, size_of(r->trace_path));
	if (rc && outfile_is_stdout(r->trace_path))
		return outfile_failed(NULL, -rc, err);
	if (rc)
		err_wrap(err, "%s is incomplete, what it holds can be read", r->trace_path);
	return rc;
}

static void close_rooms(struct recording *r)
{
	struct live *l = &r->live;
	if (l->h.probe)
		probe_stop(l->h.probe);
	command_kill(&r->command);
	live_close(l);
	if (l->h.writer) {
		/* Refused before anything was recorded: an empty trace helps nobody. */
		trace_writer_close(l->h.writer, NULL);
		forget_trace(r);
	}
}

static int record(struct recording *r, const struct record_options *o, struct err *err)
{
	struct live *l = &r->live;
	int rc = open_rooms(r, o, err);
	if (!rc)
		rc = add_targets(r, o, err);
	if (rc)
		return rc;
	if (!l->started_ns)
		start(l);
	about_sampling(l);
	size_t alive = target_count(l->h.targets);
	log_info("recording %zu process%s through %zu functions; Ctrl-C ends it", alive, alive == 1 ? "" : "es",
		 attach_facts(l->attach)->functions);
	struct err broken = { 0 };
	int cut = live_run(l, r->signals, &broken);
	/* Of a reader that is gone the writing speaks, too. */
	if (cut && cut != -EPIPE)
		log_err("%s", broken.text);
	end_recording(r);
	/* One that runs under a translator now is no target any more, but still somebody's program. */
	if (!target_count(l->h.targets))
		command_await(&r->command, r->signals);
	/* The first Ctrl-C ended the recording; a second one ends the program. */
	signals_close(r->signals);
	rc = complete_trace(r, err);
	if (!rc && r->converts)
		rc = convert_trace(r, o, err);
	return rc ? rc : cut;
}

static int status_of(int rc)
{
	return !rc ? EXIT_OK : rc == -ESRCH || rc == -ENOENT ? EXIT_NOTHING : EXIT_ERROR;
}

int run_record(const struct record_options *o, struct err *err)
{
	struct recording *r = calloc(1, sizeof(*r));
	if (!r) {
		err_set(err, ENOMEM, "out of memory");
		return EXIT_ERROR;
	}
	descriptors_raise();
	r->signals = signals_open(false, err);
	int rc = r->signals < 0 ? r->signals : record(r, o, err);
	int status = status_of(rc);
	/* Like other tools that start a program: its failure is the result. */
	int child = command_status(&r->command);
	if (status == EXIT_OK && child > 0)
		status = child;
	close_rooms(r);
	free(r);
	return status;
}
