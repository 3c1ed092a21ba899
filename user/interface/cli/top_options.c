/* SPDX-License-Identifier: Apache-2.0 */
/* cli/top_options: `alys-bpf top`: live heaps in the terminal, from the daemon or by recording itself. */
#include "base/exit_status.h"
#include "cli/verb_list.h"

#include <errno.h>
#include <string.h>

#include "allocators/allocators.h"
#include "cli/table_options.h"
#include "daemon/daemon.h"
#include "daemon/viewer.h"
#include "monitor/top_backend.h"
#include "verbs/verbs.h"

struct top_request {
	struct continuous_options watch;
	uint32_t pid;
	const char *socket;
	char *words;
};

#define AT(field) offsetof(struct top_request, field)
#define WATCH_AT(field) offsetof(struct top_request, watch.field)
#define RECORD_AT(field) WATCH_AT(record.field)

static const struct opt options[] = {
	{ "pid", 'p', "PID", opt_count, AT(pid), NULL, NULL, "record this process" },
	{ "all", 'a', NULL, opt_flag, AT(watch.select.all), NULL, NULL, "record every process" },
	{ "sample", 's', "bytes:N", opt_interval, AT(watch.record.interval), NULL, NULL,
	  "-p, -a: one allocation every N bytes on average (default 64k)" },
	{ "max-overhead", 0, "PERCENT", opt_percent, WATCH_AT(record.max_overhead), NULL, NULL,
	  "-p, -a: probes may take at most this much of the processes' CPU time; 0 is no limit (default 1)" },
	SUBJECT_OPTIONS(RECORD_AT),
	PROFILE_OPTION(WATCH_AT(record.no_frees), "-p, -a: "),
	{ "allocator", 0, "NAMES", opt_allocators, AT(watch.record.allocators), NULL, NULL,
	  "-p, -a: only these: " ALLOC_FAMILY_WORDS },
	OWN_OPTIONS(RECORD_AT, "-p, -a: "),
	SKIP_OPTIONS(WATCH_AT, NULL),
	{ "socket", 0, "PATH", opt_text, AT(socket), NULL, NULL,
	  "the daemon's control socket; with -p: show this process of the daemon" },
	{ "quiet", 'q', NULL, opt_level, 0, NULL, NULL, "errors only" },
	{ "verbose", 'v', NULL, opt_level, 0, NULL, NULL, "more messages; twice: debug" },
	{ 0 },
};

static const struct top_request defaults = {
	.watch = {
		.record = {
			.backtrace = BACKTRACE_FULL, .backtrace_limit = 256, .walk = 2 /* sleep */,
			.ring_sz = 64u << 20, .interval = 64u << 10, .max_overhead = OVERHEAD_UNSET,
		},
		.max_memory = 512u << 20, .idle_stacks = 600,
	},
};

static int status_of(int rc)
{
	return !rc ? EXIT_OK : rc == -ESRCH || rc == -ENOENT || rc == -ECONNREFUSED ? EXIT_NOTHING : EXIT_ERROR;
}

static int of_daemon(const struct top_request *r, struct err *err)
{
	struct viewer *v = viewer_new(r->socket, r->pid, err);
	if (!v)
		return -err->code;
	struct top_source source = viewer_source(v);
	int rc = top_run(&source, r->pid, err);
	viewer_free(v);
	return rc;
}

static int of_its_own(struct top_request *r, struct err *err)
{
	if (r->pid) {
		r->watch.record.pids = &r->pid;
		r->watch.record.pids_cnt = 1;
	}
	r->watch.record.words = r->words;
	struct top_backend *s = top_backend_new(&r->watch, r->pid, err);
	if (!s)
		return -err->code;
	struct top_source source = top_backend_source(s);
	int rc = top_run(&source, r->pid, err);
	top_backend_free(s);
	return rc;
}

static int run(void *opts, struct err *err)
{
	struct top_request *r = opts;
	bool own = r->watch.select.all || (r->pid && !r->socket);
	if (r->watch.select.all && (r->pid || r->socket)) {
		err_set(err, EINVAL, "--all records every process itself: it excludes -p and --socket");
		return EXIT_USAGE;
	}
	const struct skip *skip = &r->watch.skip;
	if (!own && (skip->keep_known || skip->patterns_cnt || skip->frames)) {
		err_set(err, EINVAL, "--skip and --no-skip need -p or --all: for a daemon, give --skip to the daemon");
		return EXIT_USAGE;
	}
	if (check_subjects(&r->watch.record, err))
		return EXIT_USAGE;
	/* Fail before anything is traced. */
	int rc = top_check(err);
	if (!rc)
		rc = own ? of_its_own(r, err) : of_daemon(r, err);
	return status_of(rc);
}

const struct verb verb_top = {
	.name = "top",
	.usage = "top [OPTIONS] [-p PID | --all]",
	.summary = "Watch live heaps in the terminal: those of the daemon, or of its own recording.",
	.opts = options,
	.options_sz = sizeof(struct top_request),
	.defaults = &defaults,
	.line_offset = AT(words),
	.run = run,
	.notes = "Keys: q ends, h lists the others. -p and --all need root; for the\n"
		 "daemon's see `alys-bpf ctl --help`.",
};
