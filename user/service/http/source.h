/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http/source: what http and push ask of a daemon. The daemon fills one struct
 * http_source; http and push never look behind it.
 *
 * Threads: every function of a source is called from http_serve_pending or push_serve_pending, so on
 * the thread that calls those: the owner's loop. Sockets, parsing and slow clients are on threads of
 * http and push, which never call a source. All but `profile` must be quick (no symbols, no files);
 * `profile` may take its snapshot, hand the rest to a worker and answer later.
 *
 *   client -> http's thread -> job, http_fd() readable -> owner: http_serve_pending -> source->profile
 *          <- http's thread <-------------------------- http_later_done (any thread) <- worker
 */
#ifndef ALYS_HTTP_SOURCE_H
#define ALYS_HTTP_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* One traced process, as it is now. Pointers are the source's and good until the callback returns. */
struct http_process {
	uint32_t pid;  /* as the machine's first pid namespace counts */
	char comm[16]; /* any bytes: http cleans what it shows */
	char exe[256];
	uint64_t start_ns;       /* CLOCK_BOOTTIME of the process' start: with pid its identity */
	double live_bytes;       /* estimated when sampled */
	double live_error;       /* its standard error */
	double live_below;       /* nothing of it was sampled: it is below that with 95 % confidence; 0 = something was */
	double alloc_rate;       /* bytes allocated a second, over the last seconds */
	const char *lost_by;     /* the stages that lost something: "ring-full 3, unreadable 2"; NULL = not known */
	uint64_t recorded, lost; /* what is skipped, or lost behind the probes, is known of all processes only */
	const double *history;   /* live bytes at even distances, oldest first; NULL = none */
	size_t history_cnt;
	double history_step_s; /* between two of them; 0 = not known */
	double resident_bytes; /* in memory (RSS); 0 = not known */
	double traced_s;       /* for so long all this has been counted; 0 = not known */
};

enum http_profile {
	HTTP_PROFILE_HEAP,   /* gzipped pprof, default_sample_type inuse_space */
	HTTP_PROFILE_ALLOCS, /* the same with alloc_space */
	HTTP_PROFILE_REPORT, /* the HTML report */
};

/* The allocations of one process or of all up to a moment: what a later profile is counted from. */
struct http_mark;
/* An answer that is still to come; belongs to the source until http_later_done. */
struct http_later;

struct http_profile_request {
	enum http_profile what;
	uint32_t pid; /* 0 = all processes */
	/*
	 * Not NULL: alloc_* count from there, inuse_* are as of now (a difference of those would
	 * have no meaning); time_nanos and duration_nanos are of the window. NULL: as a Go program's heap,
	 * dated now and without a duration: Parca takes what has one for a difference and adds it up, and
	 * Pyroscope refuses what is dated an hour ago.
	 */
	const struct http_mark *since;
	size_t samples_max; /* further ones go into one without a stack, said in a comment; 0 = no limit */
	const char *cause;  /* of the end of the process, which is why the profile ends here; NULL = it has not ended */
	struct http_later *later;
};

/* What `profile` returns when it will call http_later_done. */
#define HTTP_LATER 1

/*
 * Ends a request for which `profile` returned HTTP_LATER; exactly once, from any thread, also when the
 * face is closed meanwhile. rc as of `profile`; takes what is in out (and empties it) when rc is 0.
 */
void http_later_done(struct http_later *later, int rc, struct buf *out, const struct err *err);

/* One line of the ledger or of other counted facts. */
struct http_count {
	const char *class; /* "hit", "recorded", "skipped", "lost" or "note" */
	const char *name;  /* lower case with dashes: "ring-full" */
	const char *help;
	uint64_t value;
};

/* The daemon itself. Pointers are good until the source is called again. */
struct http_status {
	bool on;                    /* probes are in; off: everything answers, nothing is recorded */
	bool ready;                 /* has finished starting: /-/ready */
	uint64_t interval;          /* bytes between samples now in force, 0 = every call */
	uint64_t interval_wanted;   /* as asked for: lower when a limit made the daemon thin out */
	uint64_t processes, exited; /* traced now; traced and gone */
	uint64_t files;             /* files with probes in them */
	double cpu_seconds;         /* user and system, of all processes of the daemon */
	uint64_t memory;            /* their resident bytes */
	uint64_t memory_kernel;     /* in maps of their BPF programs */
	uint64_t memory_max;        /* --max-memory, of both together */
	double overhead;            /* share of all processors that probes and daemon take */
	uint64_t thinned;           /* times that live blocks were thinned */
	uint64_t refused_stacks;    /* events whose stack the full tables refused */
	uint64_t refused_processes; /* there was no room for them */
	uint64_t workers_restarted; /* symbol workers that died or hung */
	double recording_s, age_s;  /* was switched on so long, of so long */
	bool keeps;                 /* profiles or traces on disk; what follows is of them */
	uint64_t profiles_written, profiles_failed, profiles_removed, profiles_short; /* short: none of so short a life */
	uint64_t profiles_stored, bytes_stored, bytes_written;                        /* stored: there now */
	const char *notice; /* one sentence on what limits it now; NULL = nothing */
	const struct http_count *counts;
	size_t counts_cnt;
};

struct http_source {
	void *ctx;
	/* Calls fn for each traced process until it returns non-zero; returns that. */
	int (*each_process)(void *ctx, int (*fn)(void *fn_ctx, const struct http_process *p), void *fn_ctx);
	/*
	 * 0: *out is complete. HTTP_LATER. -ENOENT: no such process is traced; -EBUSY; else -errno, err filled. What
	 * r->since counts from is read before it returns.
	 */
	int (*profile)(void *ctx, const struct http_profile_request *r, struct buf *out, struct err *err);
	/* Nobody waits for it any more: http_later_done comes at once, if it is still to come. NULL: it cannot. */
	void (*forget)(void *ctx, const struct http_later *later);
	/*
	 * 0, *out to be given to unmark; -errno as of profile. Each face keeps at most HTTP_MARKS of them.
	 */
	int (*mark)(void *ctx, uint32_t pid, struct http_mark **out, struct err *err);
	void (*unmark)(void *ctx, struct http_mark *m);
	int (*status)(void *ctx, struct http_status *out);
};

#define HTTP_MARKS 256

#endif
