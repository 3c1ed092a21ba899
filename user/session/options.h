/* session/options: what the verbs were asked to do, already parsed and checked. */
#ifndef ALYS_SESSION_OPTIONS_H
#define ALYS_SESSION_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/report.h"

/* What a recording has unless told otherwise. */
#define RECORD_DEFAULTS                                                                            \
	{                                                                                          \
		.backtrace = BACKTRACE_FULL, .backtrace_limit = 256, .walk = 2 /* sleep */,        \
		.ring_sz = 64u << 20,                                                              \
	}

enum backtrace { BACKTRACE_NONE, BACKTRACE_ADDR, BACKTRACE_NAME, BACKTRACE_FULL };

struct live_tap;

struct record_options {
	uint32_t *pids;
	size_t pids_cnt, pids_cap;
	char **command;       /* `-- CMD ARGS`, NULL-terminated; NULL = none */
	const char *output;   /* NULL: TIME.alys */
	const char *format;   /* NULL or "alys": the trace itself */
	bool force;           /* replace an existing output */
	double duration;      /* seconds, 0 = until the end or Ctrl-C */
	uint64_t interval;    /* bytes:N, 0 = every call */
	uint32_t sample_at;   /* enum sample_at, SAMPLE_AT_ANY = what suits */
	uint64_t min_size;
	uint32_t backtrace;   /* enum backtrace */
	uint32_t backtrace_limit;
	uint64_t ring_sz;
	uint64_t memory;  /* that all of the recording may take, 0 = any; see struct probe_config */
	const char *allocators; /* comma-separated families, NULL = all */
	bool follow;
	bool no_free_stacks;
	bool return_probes;
	bool stop_at_gc;      /* stop targets while the marks of a collection are read */
	bool raw_names;       /* as the compiler wrote them */
	bool debuginfod;      /* may ask the network */
	uint32_t walk;        /* ALYS_WALK_* */
	char *words;          /* the options as given, for `info` */
	const struct live_tap *tap; /* events go there and not into a file; NULL = none */
};

/* Where names that a trace lacks come from. */
struct name_options {
	const char *symbolize; /* binary to take names from, NULL = none */
	const char *sysroot;   /* directory where the traced files are found under their paths */
	bool any_build;        /* files of another build will do */
	bool debuginfod;       /* may ask the network */
	bool raw_names;        /* as the compiler wrote them */
};

#define CONVERT_STACKS "each|once"
enum { STACKS_EACH, STACKS_ONCE };

struct convert_options {
	const char *input;
	const char *output; /* NULL: input's name with the format's ending; "-": stdout */
	uint64_t *size;     /* of the file made, for who says what is to be said of it; NULL = convert does */
	const char *format; /* NULL: json */
	struct name_options names;
	const char **inferno;  /* K[=V] options for inferno-flamegraph */
	size_t inferno_cnt, inferno_cap;
	const char *value;
	double from, until;    /* only what happened between these seconds of the recording; until 0 = all */
	uint64_t top;
	bool indent;
	uint32_t stacks; /* STACKS_* */
	bool force;
	bool keep_allocator_frames;
	struct skip skip;
	bool crystal_style;
	bool no_addresses;
};

struct report_request {
	struct report_options report;
	const char *input; /* NULL: the live process report.pid */
	struct name_options names;
	double from, until; /* only what happened between these seconds of the recording; until 0 = all */
	double every, duration; /* live: seconds between reports, and in all */
	bool heap;         /* live: the accounts of its collector's heap; with duration: and whose objects pin blocks */
	bool collections;  /* what the garbage collector did, instead */
	bool live;         /* wait for the next collection */
	double gc_wait;    /* live: report after the next collection, or after so many seconds; 0 = do not wait for one */
	const char *html;  /* write this page instead */
	bool force;
	char *words;
};

struct diff_request {
	struct report_options report;
	const char *before, *after;
	const char *flamegraph; /* write this picture instead */
	bool force;
};

struct info_options {
	const char *input;
	bool strict; /* damage is an error */
};

struct census_options {
	struct report_options report; /* pid, format, order, what is hidden */
	const char *type_ids; /* file of the compiler's list, NULL = none */
	const char *learn;    /* a trace of the process: names of types from its call stacks; NULL = none */
	double gc_wait;       /* seconds to wait for a collection */
	bool heap, counts;
};

struct doctor_options {
	uint32_t probes_pid; /* list sites of this process, 0 = no */
	const char *unwind;  /* print unwind rows of this file */
};

/* Which heap, and how it is read: what graph and dump share. */
struct heap_ask {
	uint32_t pid;
	bool freeze;          /* stop the process while its heap is copied */
	uint32_t live;        /* enum graph_live */
	const char *type_ids; /* the compiler's list of types; NULL = none */
	const char *fields;   /* a --debug build of the same program, for names of fields; NULL = the program itself */
	const char *learn;    /* a trace of the process: names of types from its call stacks; NULL = none */
};

struct graph_options {
	struct heap_ask heap;
	const char *input; /* a dump; NULL: the live process heap.pid */
	const char *type;
	uint32_t levels, limit; /* 0 = all */
	uint32_t format;        /* mermaid, dot, json */
	uint32_t show;          /* graph, counts, sizes */
	uint64_t object;        /* instead of a type: who holds the object at this address; 0 = none */
	uint64_t address;       /* the size of this object alone; 0 = none */
	bool paths;
};

struct dump_options {
	struct heap_ask heap;
	const char *output;
	const char *sites; /* a trace of the process: where its objects were allocated; NULL = none */
	bool force;
	char *words; /* the options as given */
};

#endif
