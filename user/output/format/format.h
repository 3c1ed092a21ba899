/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format: shared by all formats: the four values, output, and the notes about the recording that go into every header.
 * For sink/ and report/ only.
 */
#ifndef ALYS_FORMAT_H
#define ALYS_FORMAT_H

#include "format/sink.h"

/* In pprof's order, by which it recognizes a heap profile. */
enum value {
	VALUE_ALLOC_OBJECTS,
	VALUE_ALLOC_SPACE,
	VALUE_INUSE_OBJECTS,
	VALUE_INUSE_SPACE,
	VALUE_CNT,
};

struct value_type {
	const char *name;  /* "alloc_space" */
	const char *unit;  /* "bytes" */
	const char *title; /* "Allocated bytes" */
};
extern const struct value_type value_types[VALUE_CNT];
/* Names for profiles: those, or of pages and whether they are resident. */
const struct value_type *format_value_types(const struct catalog *c);

/* What is shown first unless the options say otherwise: bytes in use, or allocated where how these end is not known (heap-fulls). */
enum value value_standard(const struct sink_input *in);
/* The value that the options ask for, else `standard`. */
int value_choose(const struct sink_options *o, enum value standard, enum value *out, struct err *err);
/* Scaled up when sampled; rounded; clamped to int64. */
int64_t value_of(const struct totals *t, enum value v);
/* All of a row for profiles, pages counted one by one. False: all are 0. */
bool format_values(const struct catalog *c, const struct totals *t, int64_t values[VALUE_CNT]);
/* The sum, clamped to int64: values come from files. */
int64_t value_add(int64_t a, int64_t b);
/* "1.5 MiB" or "1,234", according to the unit. */
void value_text(struct buf *out, enum value v, int64_t n);

/* Writes out b and empties it; fails if b ran out of memory. */
int format_flush(struct sink_out *out, struct buf *b, struct err *err);
/* Ledger, sampling, and why in-use is an upper bound: cleaned lines, each with a newline. */
void format_notes(const struct sink_input *in, struct buf *out);
/* A line with the standard errors of the totals; nothing if every call was recorded. */
void format_errors(const struct sink_input *in, struct buf *out);
/* Objects older than the recording that are still live, according to a collector's marks. */
struct before {
	uint64_t cnt, sz;         /* marked at the last collection, sizes as rounded up by the collector */
	uint64_t empty, empty_sz; /* not included above: contain only zeros, and may be free */
	uint64_t heaps;           /* heaps for which this is unknown */
};
/* False: nothing to report. */
bool format_before(const struct catalog *c, struct before *out);
/*
 * By type, most bytes first; type "" = unknown. The caller frees it, the texts are the catalog's. NULL and *cnt = 0:
 * none, or out of memory.
 */
struct before_row {
	const char *type;
	struct proc_id proc; /* 0: of several processes, or which one is not known */
	uint64_t cnt, sz;
};
struct before_row *format_before_rows(const struct catalog *c, size_t *cnt);
/* The same by process and type. */
struct before_row *format_before_rows_apart(const struct catalog *c, size_t *cnt);
/* "[before the recording] Foo" */
void format_before_name(const struct before_row *row, struct buf *out);
/* The same as text, below tables of what is live: lines, or nothing. */
void format_before_note(const struct catalog *c, struct buf *out);
/* Objects from lists that programs take over, which refill sampling misses. */
struct unsampled {
	uint64_t cnt, sz; /* upper bound: everything marked when all marks were last read; 0 = unknown */
	uint64_t since;   /* collections after that */
	uint64_t heaps;   /* heaps for which this is unknown */
};
/* False: none. */
bool format_unsampled(const struct catalog *c, struct unsampled *out);
/* The same as text, and what no window met, without newline, or nothing. */
void format_gap(const struct catalog *c, struct buf *out);
/*
 * If no block of the heap was sampled: bytes that it is below with 95 % confidence (unsampled_below in model.h);
 * format_none_sampled says it in words. 0 if something was sampled, or nothing was allocated: then zero means zero.
 */
/* What windows of time cover, and at what price; NULL: probes were in all the time. Borrowed. */
const char *format_windows(const struct catalog *c);
double format_below(const struct catalog *c, const struct totals *t);
void format_none_sampled(double below, struct buf *out);
#define FORMAT_PAGE_SZ 4096
/* Start and end of the part that is shown; 0 if the recording does not say. */
uint64_t format_start_ns(const struct sink_input *in);
uint64_t format_end_ns(const struct sink_input *in);
/* N of the recording's "bytes:N"; 0 when every call was recorded. */
uint64_t format_interval(const struct catalog *c);
/* Smaller allocations were not recorded; 0 when all were. */
uint64_t format_min_size(const struct catalog *c);
/* The recording does not know what the garbage collector freed. */
bool format_unseen_frees(const struct catalog *c);
/* Frees of allocators without a collector were left out. */
bool format_allocations_only(const struct catalog *c);
/* Some frees by a collector were missed: in-use is an upper bound. */
bool format_bounded(const struct catalog *c);
bool format_upper_bound(const struct sink_input *in);
/*
 * For formats in which every row is a real allocation. catalog is NULL if an event itself was a sample. 0, or -EINVAL
 * with a message.
 */
int format_refuse_samples(const struct catalog *c, const char *format, struct err *err);
/* Path of the first program recorded, cleaned. */
void format_command(const struct catalog *c, struct buf *out);
/* Also false for an empty name, which debug information can contain. */
static inline bool format_is_named(const struct sink_frame *f)
{
	return f->symbol && f->symbol->name && *f->symbol->name;
}
/* The last part of a path, never empty unless the path is. */
const char *format_basename(const char *path);

#endif
