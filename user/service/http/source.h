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
 *          <- http's thread <-------------------------- http_deferred_done (any thread) <- worker
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
	char comm[16]; /* any bytes: http cleans them */
	char exe[256];
	const char *attributes;  /* catalog/attributes.h; NULL = none */
	const char *build_id;    /* of exe, in hexadecimal; NULL or "" = not known */
	uint64_t start_ns;       /* CLOCK_BOOTTIME of the process' start: with pid its identity */
	double live_bytes;       /* estimated when sampled */
	double live_error;       /* standard error */
	double live_below;       /* nothing was sampled: it is below this with 95 % confidence; 0 = something was */
	double alloc_rate;       /* bytes allocated per second, over the last seconds */
	const char *lost_by;     /* stages with losses: "ring-full 3, unreadable 2"; NULL = unknown */
	uint64_t recorded, lost; /* skipped calls, and losses outside BPF, are known for all processes only */
	const double *history;   /* live bytes at equal intervals, oldest first; NULL = none */
	size_t history_cnt;
	double history_step_s; /* interval; 0 = unknown */
	double resident_bytes; /* in memory (RSS); 0 = not known */
	double traced_s;       /* how long all this has been counted; 0 = unknown */
};

enum http_profile {
	HTTP_PROFILE_HEAP,   /* gzipped pprof, default_sample_type inuse_space */
	HTTP_PROFILE_ALLOCS, /* the same with alloc_space */
	HTTP_PROFILE_REPORT, /* the HTML report */
	HTTP_PROFILE_OTLP,   /* OTLP ProfilesData with the process' identity */
};

/* The allocations of one process, or of all, up to a moment: the baseline of a later profile. */
struct http_mark;
/* A deferred answer; owned by the source until http_deferred_done. */
struct http_deferred;

struct http_profile_request {
	enum http_profile what;
	uint32_t pid;   /* 0 = all processes */
	uint32_t shown; /* what it is about: a subject's number and 1, 0 = the first one */
	/*
	 * Not NULL: alloc_* count from there, inuse_* are current (their difference would be meaningless); time_nanos
	 * and duration_nanos are those of the window. NULL: like a Go program's heap profile, dated now and without a
	 * duration: Parca takes a profile with a duration for a delta and adds it up, and Pyroscope rejects old dates.
	 */
	const struct http_mark *since;
	size_t samples_max; /* further ones are merged into one without a stack, with a comment; 0 = no limit */
	const char *cause;  /* how the process ended, if this is its last profile; NULL = it has not ended */
	struct http_deferred *later;
};

/* Returned by `profile` if it will call http_deferred_done. */
#define HTTP_LATER 1

/*
 * Ends a request for which `profile` returned HTTP_LATER; exactly once, from any thread, even if the server is closed
 * meanwhile. rc as for `profile`; takes the contents of out if rc is 0.
 */
void http_deferred_done(struct http_deferred *later, int rc, struct buf *out, const struct err *err);

/* One line of the ledger, or another count. */
struct http_count {
	const char *class; /* "hit", "recorded", "skipped", "lost" or "note" */
	const char *name;  /* lower case with dashes: "ring-full" */
	const char *help;
	uint64_t value;
};

/* The daemon itself. Pointers are valid until the source is called again. */
struct http_status {
	bool on;                    /* probes are attached; off: everything answers, nothing is recorded */
	bool ready;                 /* has finished starting: /-/ready */
	uint64_t interval;          /* current sampling interval, 0 = every call */
	uint64_t interval_wanted;   /* as requested: smaller, if a limit made the daemon sample less */
	bool no_frees;              /* what is in use is known of collected heaps only */
	uint64_t processes, exited; /* traced now; traced and gone */
	uint64_t files;             /* probed files */
	double cpu_seconds;         /* user and system, all processes of the daemon */
	uint64_t memory;            /* their resident bytes */
	uint64_t memory_kernel;     /* in maps of their BPF programs */
	uint64_t memory_max;        /* --max-memory, of both together */
	double overhead;            /* share of all CPUs used by probes and the daemon */
	bool windowed;              /* probes may be attached in windows only; then: */
	double covered, spent;      /* share of the time with probes attached; of the programs' CPU time spent on them */
	uint64_t windows;           /* so far */
	uint64_t thinned;           /* times that live blocks were thinned */
	uint64_t refused_stacks;    /* events whose stack was refused because tables were full */
	uint64_t refused_processes; /* processes refused for lack of memory */
	uint64_t workers_restarted; /* symbol workers that died or hung */
	double recording_s, age_s;  /* total time switched on, and since the start */
	bool keeps;                 /* profiles or traces are written; the following describe them */
	uint64_t profiles_written, profiles_failed, profiles_removed, profiles_short; /* short: ended too soon for one */
	uint64_t profiles_stored, bytes_stored, bytes_written;                        /* stored: current */
	const char *notice; /* one sentence on a current limitation; NULL = none */
	const struct http_count *counts;
	size_t counts_cnt;
};

struct http_source {
	void *ctx;
	/* Calls fn for each traced process until it returns non-zero; returns that. */
	int (*each_process)(void *ctx, int (*fn)(void *fn_ctx, const struct http_process *p), void *fn_ctx);
	/*
	 * 0: *out is complete. HTTP_LATER. -ENOENT: no such process is traced; -EBUSY; else -errno, err filled.
	 * r->since is read before it returns.
	 */
	int (*profile)(void *ctx, const struct http_profile_request *r, struct buf *out, struct err *err);
	/* Nobody waits any more: http_deferred_done is called at once, if it is still due. NULL: not supported. */
	void (*forget)(void *ctx, const struct http_deferred *later);
	/* 0, *out to be passed to unmark; -errno as for profile. http and push each keep at most HTTP_MARKS of them. */
	int (*mark)(void *ctx, uint32_t pid, uint32_t shown, struct http_mark **out, struct err *err);
	void (*unmark)(void *ctx, struct http_mark *m);
	int (*status)(void *ctx, struct http_status *out);
};

#define HTTP_MARKS 256

#endif
