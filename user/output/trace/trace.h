/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace: .alys files, written and read. The format is in FORMAT.md beside this file. It never
 * breaks within a major version; the ring's wire format is another thing and not known here.
 */
#ifndef ALYS_TRACE_H
#define ALYS_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "catalog/catalog.h"
#include "catalog/consumer.h"
#include "event/event.h"

struct trace_writer;

struct trace_clock {
	uint64_t mono_ns, real_ns, boot_ns; /* all read at the same moment */
};
struct trace_clock trace_clock_now(void);

/*
 * Takes fd (writable: a new file, the end of one, or a pipe) and writes the header at once. Frames leave when 64 KiB of
 * raw bytes are gathered or trace_tick says that a second has passed, each by whole write()s.
 * When the disk is full the writer keeps what it wrote, counts what it drops, and goes on trying
 * (-ENOSPC from calls is a state, not an end): see trace_dropped.
 */
struct trace_writer *trace_writer_new(int fd, const struct trace_clock *clock, struct err *err);
/*
 * As trace_writer_new, for a recording with a catalog: definitions are read from it and written when events use them,
 * including those older than the file. The catalog must be updated before the writer is called; borrowed until the writer
 * is closed or follows another catalog.
 */
struct trace_writer *trace_writer_over(int fd, const struct trace_clock *clock, const struct catalog *known, struct err *err);
void trace_writer_follow(struct trace_writer *w, const struct catalog *known);
/* The writer as consumer of a recording. */
struct consumer trace_consumer(struct trace_writer *w);
/* Has it been written? */
bool trace_has_stack(const struct trace_writer *w, struct stack_id id);
int trace_write_definition(struct trace_writer *w, const struct definition *d);
int trace_write_meta(struct trace_writer *w, const char *key, const char *value);
int trace_write_proc(struct trace_writer *w, const struct proc *p);
int trace_write_module(struct trace_writer *w, const struct module *m);
int trace_write_mapping(struct trace_writer *w, const struct mapping *m);
int trace_write_stack(struct trace_writer *w, const struct stack *s);
int trace_write_symbols(struct trace_writer *w, struct module_id m, uint64_t pc, const struct symbols *s);
int trace_write_count(struct trace_writer *w, const struct count *c); /* the last one of a name counts */
int trace_write_older(struct trace_writer *w,
		      const struct older *o); /* the last one of a process and type counts; not repeated if unchanged */
int trace_write_called(struct trace_writer *w, const struct called *n);                      /* likewise, of a function */
int trace_write_erlang_process(struct trace_writer *w, const struct erlang_process *erlang); /* the last name counts */
int trace_write_event(struct trace_writer *w, const struct event *e);
/* One part of a heap's graph (heapgraph/parts.h), at most 512 KiB; other readers skip it. */
int trace_write_part(struct trace_writer *w, const struct buf *part);
int trace_tick(struct trace_writer *w, uint64_t now_ns); /* flushes frames older than one second */
/* Events dropped because the file could not be written. */
uint64_t trace_dropped(const struct trace_writer *w);
uint64_t trace_bytes(const struct trace_writer *w);
/* The output is a pipe without a reader. */
bool trace_unread(const struct trace_writer *w);
/* Writes pending data and the END frame, closes fd, frees w. Returns the first error that ever occurred. */
int trace_writer_close(struct trace_writer *w, struct err *err);

/* The condition of a file, found while reading it. */
struct trace_health {
	uint16_t major, minor;
	struct trace_clock clock;
	uint64_t frames, bad_frames, skipped_frames /* of unknown optional type */;
	uint64_t bytes, skipped_bytes;
	uint64_t events;
	uint64_t last_ns; /* time of the last good frame */
	bool clean_end;   /* an END frame was found */
};

struct trace;

/*
 * Limit for a file of this size. Recordings unpack to seven times their size and have at most 0.8 events per byte (of
 * 586 recordings); a file far beyond that was made to waste memory and time, and reading it ends with -E2BIG.
 */
#define TRACE_UNPACKED_MAX(bytes) ((16ull << 20) + 20 * (bytes))
#define TRACE_PARTS_MAX(bytes) ((64ull << 20) + 256 * (bytes)) /* heap graphs may compress arbitrarily well */
#define TRACE_EVENTS_MAX(bytes) ((256ull << 10) + 4 * (bytes))

/* Takes fd. Rejects what is not a .alys file, a newer major version, an unknown required feature. */
struct trace *trace_open(int fd, const char *name, struct err *err);
/* First pass: everything except events goes into the catalog; event frames are skipped. */
int trace_read_catalog(struct trace *t, struct catalog *c, struct trace_health *health, struct err *err);
/* Second pass: events in file order. A non-zero result of fn stops and is returned. */
int trace_each_event(struct trace *t, int (*fn)(void *ctx, const struct event *e), void *ctx, struct err *err);
/* The heap graph's parts, in order, without damaged ones. A non-zero result of fn stops and is returned. */
int trace_each_part(struct trace *t, int (*fn)(void *ctx, const void *bytes, size_t n), void *ctx, struct err *err);
/* Size of the file in bytes. */
uint64_t trace_size(const struct trace *t);
void trace_close(struct trace *t);

#endif
