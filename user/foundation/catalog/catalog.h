/* SPDX-License-Identifier: Apache-2.0 */
/*
 * catalog: what the ids in events mean, and the metadata of a recording. Filled during recording or from a .alys file;
 * read by users of the model and by sinks. It copies everything it is given; pointers that it returns are borrowed and
 * live as long as the catalog. Single-threaded.
 *
 * All _put_ functions take the id in the struct; putting an id again replaces the definition (a trace repeats
 * definitions in every segment). They return 0, -ENOMEM, or -EINVAL for id 0.
 */
#ifndef ALYS_CATALOG_H
#define ALYS_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct proc {
	struct proc_id id;
	struct proc_id parent; /* 0: it existed before the recording */
	uint32_t tgid;
	uint32_t generation; /* number of execs seen */
	uint64_t start_ns;   /* process start, CLOCK_MONOTONIC */
	const char *comm;
	const char *exe;          /* path as the process sees it; never its arguments */
	const char *attributes;   /* catalog/attributes.h; "" = none */
	uint8_t subject;          /* of a heap beside that of the recording's first subject: enum subject; else 0 */
	struct module_id program; /* the file of exe; 0: the catalog sets it when that is mapped */
};

#define BUILD_ID_MAX 32
#define BUILD_ID_TEXT (2 * BUILD_ID_MAX + 1)

struct module {
	struct module_id id;
	const char *path;
	uint64_t dev, ino;
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_sz; /* 0 = the file has none */
};
/* In hexadecimal; "" = none. Returns out. */
const char *module_build_id(const struct module *m, char out[BUILD_ID_TEXT]);

struct mapping {
	struct map_id id;
	struct proc_id proc;
	struct module_id module;
	uint64_t start, end; /* addresses in the process */
	uint64_t bias;       /* address in the process - address in the ELF file (modulo 2^64) */
};

struct frame {
	struct map_id map; /* 0: rel is the absolute address */
	uint64_t rel;      /* address in the ELF file; for callers the return address */
};

/* How a stack walk ended. On disk as numbers: append only. */
#define STACK_END_LIST(X)                                                                           \
	X(0, COMPLETE, "complete", "the walk reached the bottom of the stack")                      \
	X(1, UNKNOWN, "unknown", "the walk stopped without saying why")                             \
	X(2, TRUNCATED, "truncated", "deeper than --backtrace-limit or the kernel's own")           \
	X(3, FAULT, "fault", "a stack page could not be read")                                      \
	X(4, NO_TABLE, "no-table", "code without unwind information")                               \
	X(5, BAD_CFA, "bad-cfa", "the unwind information led out of the stack")                     \
	X(6, UNSUPPORTED, "unsupported", "an unwind rule that has no row")                          \
	X(7, LOST, "lost", "the stack's record did not fit into the ring buffer")                   \
	X(8, NO_SLOT, "no-slot", "more walks at once than there are walk slots")                    \
	X(9, NO_FRAME_POINTER, "no-frame-pointer", "frame pointers led no further (--walk kernel)") \
	X(10, OLDER, "before-the-recording", "no call: blocks that a census found (record --census)")

enum stack_end {
#define X(n, id, name, help) STACK_END_##id = n,
	STACK_END_LIST(X)
#undef X
		STACK_END_CNT
};
const char *stack_end_name(enum stack_end end);
const char *stack_end_help(enum stack_end end);

struct stack {
	struct stack_id id;
	struct proc_id proc;
	uint8_t end; /* enum stack_end */
	uint32_t n;
	const struct frame *frames; /* innermost first; frames[0] is inside the allocator function */
	const char *type;           /* of the objects, if it is known and not only to be concluded from the frames; or NULL */
};

enum symbol_quality { SYMBOL_NONE, SYMBOL_MODULE, SYMBOL_TABLE, SYMBOL_EXACT };

/* Whose code it is, as the recording decided (alloc_has_frame); traces before 1.4 do not say. */
enum symbol_owner { SYMBOL_OWNER_UNKNOWN, SYMBOL_OWNER_PROGRAM, SYMBOL_OWNER_ALLOCATOR };

/* One source-level frame. Several per address when the compiler inlined calls. */
struct symbol {
	const char *name;      /* NULL = unknown */
	const char *file;      /* NULL = unknown */
	uint32_t line, column; /* 0 = unknown */
	uint8_t quality;       /* enum symbol_quality */
	uint8_t owner;         /* enum symbol_owner */
	bool inlined;          /* inlined into the next symbol of the same address */
};

struct symbols {
	size_t n;
	struct symbol *at; /* innermost inlined function first, the physical function last */
};

/* One line of the ledger. Invariant: hits = recorded + skipped + lost. */
enum count_class {
	COUNT_HIT = 1,      /* a probe fired */
	COUNT_RECORDED = 2, /* an event of it is in the trace */
	COUNT_SKIPPED = 3,  /* deliberately not recorded: nested call, failed call, not sampled */
	COUNT_LOST = 4,     /* should have been recorded */
	COUNT_NOTE = 5,     /* other facts, outside the sum: stacks by end, ring size */
};

struct count {
	const char *name; /* stable, lower-case with dashes */
	const char *help;
	uint8_t class; /* enum count_class */
	uint64_t value;
};

/*
 * Objects of a collected heap that are older than the recording, as of the last collection whose marks were compared
 * with the records.
 */
struct older {
	struct proc_id proc;
	const char *type;    /* Crystal class, or a description: "(buffer)", "64 bytes" */
	uint64_t cnt, bytes; /* 0: none left; bytes as rounded up by the collector */
};

/* Calls of a chosen function (--calls) in one process. */
struct called {
	struct proc_id proc;
	struct stack_id stack; /* of one frame: the function's entry */
	uint64_t calls;
};

/* What an Erlang process of a VM is called: its registered name, or else the function that it began with. */
struct erlang_process {
	struct proc_id proc;
	uint64_t process; /* as the address of its heap-fulls, see event.h */
	const char *name;
};

/* Metadata keys of the patterns of --calls, one a line, and of inlined copies, which are not counted: "NAME\tN" lines. */
#define CALLS_KEY "calls"
#define CALLS_INLINED_KEY "calls_inlined"

struct catalog;

struct catalog *catalog_new(void); /* NULL when out of memory */
void catalog_free(struct catalog *c);
/* Approximate size in bytes. */
uint64_t catalog_memory(const struct catalog *c);
/* How many stacks it has. */
size_t catalog_stacks(const struct catalog *c);

int catalog_put_meta(struct catalog *c, const char *key, const char *value);
int catalog_put_proc(struct catalog *c, const struct proc *p);
int catalog_put_module(struct catalog *c, const struct module *m);
int catalog_put_mapping(struct catalog *c, const struct mapping *m);
int catalog_put_stack(struct catalog *c, const struct stack *s);
int catalog_put_symbols(struct catalog *c, struct module_id m, uint64_t pc, const struct symbols *s);
int catalog_put_count(struct catalog *c, const struct count *n);
int catalog_put_older(struct catalog *c, const struct older *o);
int catalog_put_called(struct catalog *c, const struct called *n);                 /* one for each stack */
int catalog_put_erlang_process(struct catalog *c, const struct erlang_process *w); /* the last name counts */
/* Interns a text, so that symbols can share names. Borrowed; NULL when out of memory. */
const char *catalog_text(struct catalog *c, const char *text);

/*
 * What a recording is about is in its metadata: SUBJECT_KEY has the name of its first subject, without it allocations;
 * BESIDE_KEY those of others, separated by commas.
 */
#define SUBJECT_KEY "subject"
#define BESIDE_KEY "beside"
const char *subject_name(enum subject s);
bool catalog_has_subject(const struct catalog *c, enum subject s);
/* The one whose events are looked at: the first one, until another is shown. */
enum subject catalog_subject(const struct catalog *c);
void catalog_show(struct catalog *c, enum subject s);
/* Is the heap of that subject? Also of one that is not known. */
bool catalog_shows(const struct catalog *c, struct proc_id id);

/* Lookups: NULL when the id is not known (a damaged trace has such ids). */
const char *catalog_meta(const struct catalog *c, const char *key);
const struct proc *catalog_proc(const struct catalog *c, struct proc_id id);
const struct module *catalog_module(const struct catalog *c, struct module_id id);
/* Of the program that the process executes; "" = none, or not known yet. Returns out. */
const char *catalog_build_id(const struct catalog *c, const struct proc *p, char out[BUILD_ID_TEXT]);
const struct mapping *catalog_mapping(const struct catalog *c, struct map_id id);
const struct stack *catalog_stack(const struct catalog *c, struct stack_id id);
const struct symbols *catalog_symbols(const struct catalog *c, struct module_id m, uint64_t pc);
uint64_t catalog_count(const struct catalog *c, const char *name); /* 0 if absent */

/* Iterators, in order of ids or of arrival; NULL at the end. Start with *i = 0. */
const struct proc *catalog_next_proc(const struct catalog *c, size_t *i);
const struct module *catalog_next_module(const struct catalog *c, size_t *i);
const struct mapping *catalog_next_mapping(const struct catalog *c, size_t *i);
const struct stack *catalog_next_stack(const struct catalog *c, size_t *i);
const struct count *catalog_next_count(const struct catalog *c, size_t *i);
/* In no particular order. */
const struct older *catalog_next_older(const struct catalog *c, size_t *i);
const struct older *catalog_older(const struct catalog *c, struct proc_id proc, const char *type); /* NULL: none known */
const struct called *catalog_next_called(const struct catalog *c, size_t *i);
const struct erlang_process *catalog_next_erlang_process(const struct catalog *c, size_t *i);
const struct erlang_process *catalog_erlang_process(const struct catalog *c, struct proc_id proc,
						    uint64_t process);               /* NULL: no name */
const struct called *catalog_called(const struct catalog *c, struct stack_id stack); /* NULL: none known */
bool catalog_next_meta(const struct catalog *c, size_t *i, const char **key, const char **value);

/*
 * The address to look up for frame i of a stack: the call, not the return address, hence return address - 1 for all but
 * the innermost frame.
 */
static inline uint64_t frame_pc(const struct frame *f, uint32_t index)
{
	return index ? f->rel - 1 : f->rel;
}

/* The address as the process saw it. */
uint64_t frame_ip(const struct catalog *c, const struct frame *f);

/* Sum over one class of the ledger. */
uint64_t catalog_sum(const struct catalog *c, enum count_class class);
/*
 * One sentence for exit lines, pprof comments and JSON: "hits 10 = recorded 8 + skipped 2 (nested 2) + lost 0", each
 * class with its non-zero stages.
 */
struct buf;
void catalog_ledger_text(const struct catalog *c, struct buf *out);

#endif
