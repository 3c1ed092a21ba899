/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format: what the formats of this module share: the four values, writing out, and the
 * sentences about the recording that go into every header. For sink/ and report/ only.
 */
#ifndef ALYS_FORMAT_H
#define ALYS_FORMAT_H

#include "format/sink.h"

/* In pprof's order, by which it knows a heap profile. */
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

/* The value that the options ask for, else `standard`. */
int value_choose(const struct sink_options *o, enum value standard, enum value *out, struct err *err);
/* Scaled to the whole when sampled; rounded; kept within int64. */
int64_t value_of(const struct totals *t, enum value v);
/* The sum, held at the largest int64: values come from files. */
int64_t value_add(int64_t a, int64_t b);
/* "1.5 MiB" or "1,234": with the unit's own look. */
void value_text(struct buf *out, enum value v, int64_t n);

/* Hands over what is in b and empties it; tells of memory that ran out on the way there. */
int format_flush(struct sink_out *out, struct buf *b, struct err *err);
/* Ledger, sampling, and why in-use is an upper bound: cleaned lines, each ended by a newline. */
void format_notes(const struct sink_input *in, struct buf *out);
/* A line with the standard errors of live and allocated bytes and blocks in all; none where every call was recorded. */
void format_errors(const struct sink_input *in, struct buf *out);
/* What lives since before the recording, as far as a collector's marks tell. */
struct before {
	uint64_t cnt, sz;         /* marked at the last collection, sizes as the collector rounds them */
	uint64_t empty, empty_sz; /* the same, not among them: hold nothing but zeros, and may be free */
	uint64_t heaps;           /* of which that is not known */
};
/* False: there is nothing to say. */
bool format_before(const struct catalog *c, struct before *out);
/*
 * By type, most bytes first: type "" is what the recording tells no type of. The caller's to free, the texts are the
 * catalog's. NULL and *cnt = 0: none, or memory is out.
 */
struct before_row {
	const char *type;
	uint64_t cnt, sz;
};
struct before_row *format_before_rows(const struct catalog *c, size_t *cnt);
/* "[before the recording] Foo" */
void format_before_name(const struct before_row *row, struct buf *out);
/* The same in words, for tables of what is live: lines, or nothing. */
void format_before_note(const struct catalog *c, struct buf *out);
/* Objects of lists that others take, which refills do not sample. */
struct unsampled {
	uint64_t cnt, sz; /* at most that: all that was marked when all marks were read last; 0 = not known */
	uint64_t since;   /* collections after that */
	uint64_t heaps;   /* of which that is not known */
};
/* False: there are none. */
bool format_unsampled(const struct catalog *c, struct unsampled *out);
/* The same in words, without an end of line, or nothing. */
void format_gap(const struct catalog *c, struct buf *out);
/*
 * No block of the heap was sampled: bytes that it is below with 95 % confidence (unsampled_below in model.h), in words
 * by format_none_sampled. 0 when something was sampled, or when nothing was there to be: then zero is zero.
 */
double format_below(const struct catalog *c, const struct totals *t);
void format_none_sampled(double below, struct buf *out);
/* When the part of the recording that is shown begins and ends; 0 when the recording does not say. */
uint64_t format_start_ns(const struct sink_input *in);
uint64_t format_end_ns(const struct sink_input *in);
/* N of the recording's "bytes:N"; 0 when every call was recorded. */
uint64_t format_interval(const struct catalog *c);
/* Smaller allocations were not recorded; 0 when all were. */
uint64_t format_min_size(const struct catalog *c);
/* The recording does not tell what the garbage collector freed. */
bool format_unseen_frees(const struct catalog *c);
/* Some of what a collector freed was not seen: in-use is an upper bound. */
bool format_bounded(const struct catalog *c);
bool format_upper_bound(const struct sink_input *in);
/*
 * For formats in which every allocation is one allocation. catalog is NULL when an event itself was
 * a sample. 0, or -EINVAL and a sentence.
 */
int format_refuse_samples(const struct catalog *c, const char *format, struct err *err);
/* Path of the first program recorded, cleaned. */
void format_command(const struct catalog *c, struct buf *out);
/* Not with an empty name either, which debug information does have. */
static inline bool format_is_named(const struct sink_frame *f)
{
	return f->symbol && f->symbol->name && *f->symbol->name;
}
/* The last part of a path, never empty unless the path is. */
const char *format_basename(const char *path);

#endif
