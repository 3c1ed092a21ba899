/* SPDX-License-Identifier: Apache-2.0 */
/* verbs/recording: see recording.h. Everything that can fail is checked before the first probe is attached. */
#include "verbs/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "access/outfile.h"
#include "allocators/own.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/exit_status.h"
#include "base/log.h"
#include "base/signals.h"
#include "counting/counting.h"
#include "launch/command.h"
#include "naming/finish.h"
#include "recorder/metadata.h"
#include "governor/windows.h"

struct recording {
	struct live live;
	struct command command;
	const struct recording_end *end;
	int signals;
};

static int open_parts(struct recording *r, const struct record_options *o, struct err *err)
{
	struct live *l = &r->live;
	if (o->return_probes)
		log_warn("--return-probes: they kill programs in which an exception or a fiber switch leaves an allocator");
	int rc = live_open(l, o, NULL, err);
	if (!rc)
		rc = r->end->open(r->end->ctx, l, err);
	if (!rc)
		metadata_begin(l);
	return rc;
}

static int nothing_noted(uint32_t pid, struct err *err)
{
	return err_set(
		err, ENOENT,
		"no probe otel_memory:alloc or ddheap:alloc that can be used in the files of the process (`alys-bpf doctor "
		"--probes %" PRIu32 "` shows those that cannot): without --allocator usdt its allocator is probed",
		pid);
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
		 : record_is_noted(l->h.o) && l->h.o->pids_cnt ? nothing_noted(l->h.o->pids[0], err)
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

/* The sentence about function i of the user's; false: it is probed. */
static bool explain_own(const struct live *l, size_t i, struct buf *out)
{
	const struct attach_facts *f = attach_facts(l->attach);
	if (f->own_probed & 1ull << i)
		return false;
	own_option(i, out);
	buf_adds(out,
		 f->own_matched & 1ull << i
			 ? ": what matches is recorded by another option or as a known allocator, or cannot be probed: "
			   "`alys-bpf doctor --probes PID` with these options says which"
			 : ": no such function in the mapped files: `nm -C FILE` lists those of a file; of a stripped one, only "
			   "exported functions have names");
	return true;
}

/* Before the recording, only what matches nothing is refused. */
static int check_own(const struct live *l, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < own_cnt(); i++) {
		struct buf why = { 0 };
		if (!(attach_facts(l->attach)->own_matched & 1ull << i) && explain_own(l, i, &why))
			rc = err_set(err, ENOENT, "%s", buf_str(&why));
		buf_free(&why);
	}
	return rc;
}

static void warn_own(const struct live *l)
{
	for (size_t i = 0; i < own_cnt(); i++) {
		struct buf why = { 0 };
		if (explain_own(l, i, &why))
			log_warn("%s", buf_str(&why));
		buf_free(&why);
	}
}

static bool has_no_allocator(const struct live *l)
{
	return record_has(l->h.o, SUBJECT_ALLOCATIONS) && !attach_facts(l->attach)->functions;
}

static void warn_no_allocator(struct live *l)
{
	struct err why;
	if (!has_no_allocator(l))
		return;
	nothing_found(l, &why);
	log_warn("%s", why.text);
}

/*
 * Allocators, and the functions that --alloc and --calls choose. A command may execute another program, and a child, too: the
 * patterns may be about that.
 */
static int check_found(struct live *l, struct err *err)
{
	const struct record_options *o = l->h.o;
	/* A script, as erl is one, has none of the chosen ones; what it executes may. */
	if (has_no_allocator(l) && !(o->command && o->allocators))
		return nothing_found(l, err);
	bool complete = !o->command && !o->follow;
	int rc = complete ? check_own(l, err) : 0;
	return rc || !l->h.counting ? rc : counting_check(l->h.counting, complete, err);
}

/* The recording's time starts here: examining files for probe sites before may take a second. */
static void start(struct live *l)
{
	metadata_start(l);
	probe_start(l->h.probe);
	l->started_ns = now_ns();
	live_begin_mappings(l);
}

static int add_targets(struct recording *r, struct err *err)
{
	struct live *l = &r->live;
	const struct record_options *o = l->h.o;
	for (size_t i = 0; i < o->pids_cnt; i++) {
		int rc = target_find(l->h.targets, o->pids[i]).n ? 0 : live_add(l, o->pids[i], err);
		if (rc)
			return rc;
	}
	if (!o->command)
		return check_found(l, err);
	int rc = probe_settle_loading(l->h.probe, err);
	for (int i = 0; i < HOLDERS && !rc; i++)
		rc = holder_start(&l->holders[i], probe_hold_ring_fd(l->h.probe, i), i, err);
	/* The program's own output would corrupt it. */
	r->command.stdout_taken = o->output && outfile_is_stdout(o->output);
	if (!rc)
		rc = command_spawn(&r->command, o->command, err);
	if (!rc)
		rc = live_add(l, (uint32_t)r->command.pid, err);
	if (!rc)
		rc = probe_add_own(l->h.probe, (uint32_t)r->command.pid, err);
	if (rc)
		return rc;
	probe_allow_holds(l->h.probe);
	/* The program is still stopped: nothing is lost between here and the mapping of its libraries. */
	start(l);
	const struct command_ops ops = { .ctx = l, .mapped = on_command_mapped, .is_c_library = is_c_library };
	rc = command_release(&r->command, &ops, err);
	return rc ?: check_found(l, err);
}

static void end_recording(struct recording *r)
{
	struct live *l = &r->live;
	windows_end(l->windows);
	probe_stop(l->h.probe);
	l->stopped_ns = now_ns();
	probe_detach(l->h.probe, 0);
	live_drain(l);
	live_settle(l, l->stopped_ns);
	probe_settle_calls(l->h.probe);
	live_publish(l, l->stopped_ns);
	metadata_sampling(l);
	metadata_end(l);
	warn_no_allocator(l);
	warn_own(l);
	if (l->h.counting)
		counting_warn(l->h.counting);
	consumer_tick(l->h.out, now_ns());
}

static int complete(struct recording *r, struct err *err)
{
	struct err names;
	if (finish_symbols(&r->live.h, &names))
		log_warn("%s", names.text);
	return r->end->complete(r->end->ctx, &r->live, err);
}

static void close_parts(struct recording *r)
{
	struct live *l = &r->live;
	if (l->h.probe)
		probe_stop(l->h.probe);
	command_kill(&r->command);
	/* The consumer may use the catalog until it is closed. */
	if (r->end->close)
		r->end->close(r->end->ctx);
	l->h.out = NULL;
	live_close(l);
}

static void say_subjects(const struct live *l)
{
	const struct record_options *o = l->h.o;
	struct buf what = { 0 };
	size_t alive = target_count(l->h.targets);
	if (record_has(o, SUBJECT_ALLOCATIONS))
		buf_addf(&what, " through %zu functions", attach_facts(l->attach)->functions);
	if (record_has(o, SUBJECT_PAGES))
		buf_addf(&what, "%s pages that become resident", what.len ? "," : ":");
	if (record_has(o, SUBJECT_MAPPINGS))
		buf_addf(&what, "%s mappings", what.len ? "," : ":");
	log_info("recording %zu process%s%s; Ctrl-C ends it", alive, alive == 1 ? "" : "es", buf_str(&what));
	buf_free(&what);
}

static int record(struct recording *r, const struct record_options *o, struct err *err)
{
	struct live *l = &r->live;
	int rc = open_parts(r, o, err);
	if (!rc)
		rc = add_targets(r, err);
	if (rc)
		return rc;
	if (!l->started_ns)
		start(l);
	metadata_sampling(l);
	say_subjects(l);
	struct err broken = { 0 };
	int cut = live_run(l, r->signals, &broken);
	/* For -EPIPE, `complete` reports the error. */
	if (cut && cut != -EPIPE)
		log_err("%s", broken.text);
	end_recording(r);
	/* A program that now runs under a translator is no longer a target, but we still wait for it. */
	if (!target_count(l->h.targets))
		command_await(&r->command, r->signals);
	/* The first Ctrl-C ended the recording; a second one ends the program. */
	signals_close(r->signals);
	rc = complete(r, err);
	return rc ? rc : cut;
}

static int status_of(int rc)
{
	return !rc ? EXIT_OK : rc == -ESRCH || rc == -ENOENT ? EXIT_NOTHING : EXIT_ERROR;
}

int recording_run(const struct record_options *o, const struct recording_end *end, struct err *err)
{
	struct recording *r = calloc(1, sizeof(*r));
	if (!r) {
		err_set(err, ENOMEM, "out of memory");
		return EXIT_ERROR;
	}
	r->end = end;
	descriptors_raise();
	r->signals = signals_open(false, err);
	int rc = r->signals < 0 ? r->signals : record(r, o, err);
	int status = status_of(rc);
	/* Like other tools that start a program, return its exit status. */
	int child = command_status(&r->command);
	if (status == EXIT_OK && child > 0)
		status = child;
	close_parts(r);
	free(r);
	return status;
}
