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
	uint64_t mono_ns, real_ns, boot_ns; /* read at one moment */
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
 * including those older than the file. The catalog must be updated before the writer is told; borrowed until the writer
 * is closed or follows another catalog.
 */
struct trace_writer *trace_writer_over(int fd, const struct trace_clock *clock, const struct catalog *known, struct err *err);
void trace_writer_follow(struct trace_writer *w, const struct catalog *known);
/* The writer as consumer of a recording. */
struct consumer trace_consumer(struct trace_writer *w);
/* Is it in the file? */
bool trace_has_stack(const struct trace_writer *w, struct stack_id id);
int trace_write_definition(struct trace_writer *w, const struct definition *d);
int trace_write_meta(struct trace_writer *w, const char *key, const char *value);
int trace_write_proc(struct trace_writer *w, const struct proc *p);
int trace_write_module(struct trace_writer *w, const struct module *m);
int trace_write_mapping(struct trace_writer *w, const struct mapping *m);
int trace_write_stack(struct trace_writer *w, const struct stack *s);
int trace_write_symbols(struct trace_writer *w, struct module_id m, uint64_t pc, const struct symbols *s);
int trace_write_count(struct trace_writer *w, const struct count *c); /* last one of a name holds */
int trace_write_older(struct trace_writer *w,
		      const struct older *o); /* the last one of a process and type holds; once in the same words */
int trace_write_event(struct trace_writer *w, const struct event *e);
/* One part of a heap's graph (heapgraph/parts.h), at most 512 KiB; readers that do not look for it pass over it. */
int trace_write_part(struct trace_writer *w, const struct buf *part);
int trace_tick(struct trace_writer *w, uint64_t now_ns); /* flushes frames older than one second */
/* Events dropped because the file could not be written. */
uint64_t trace_dropped(const struct trace_writer *w);
uint64_t trace_bytes(const struct trace_writer *w);
/* It went into a pipe, and its reader is gone. */
bool trace_unread(const struct trace_writer *w);
/* Writes what is pending and the END frame, closes fd, frees w. First error of the whole life. */
int trace_writer_close(struct trace_writer *w, struct err *err);

/* What reading found out about the file itself. */
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
 * What a file of so many bytes may hold. Recordings unpack to seven times their size and have 0.8 events a byte at most
 * (of 586 of them); a file with several times that was made to take memory and time, and reading it ends with -E2BIG.
 */
#define TRACE_UNPACKED_MAX(bytes) ((16ull << 20) + 20 * (bytes))
#define TRACE_PARTS_MAX(bytes) ((64ull << 20) + 256 * (bytes)) /* heaps may be as regular as they like */
#define TRACE_EVENTS_MAX(bytes) ((256ull << 10) + 4 * (bytes))

/* Takes fd. Refuses what is not a .alys file, a newer major version, an unknown required feature. */
struct trace *trace_open(int fd, const char *name, struct err *err);
/* First pass: everything but events goes into the catalog; event frames are skipped unread. */
int trace_read_catalog(struct trace *t, struct catalog *c, struct trace_health *health, struct err *err);
/* Second pass: events in file order. fn returns non-zero to stop with that value. */
int trace_each_event(struct trace *t, int (*fn)(void *ctx, const struct event *e), void *ctx, struct err *err);
/* The parts that were written, in order, undamaged ones only. fn returns non-zero to stop with that value. */
int trace_each_part(struct trace *t, int (*fn)(void *ctx, const void *bytes, size_t n), void *ctx, struct err *err);
/* Bytes of the file. */
uint64_t trace_size(const struct trace *t);
void trace_close(struct trace *t);

#endif
