/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapview/objects: the objects of a heap, their types and references: of a live process, or of a
 * dump. In: a process or a file. Out: a graph with names. Attaches no probes; stops the process only on request, while
 * it is copied.
 */
#ifndef ALYS_HEAPVIEW_OBJECTS_H
#define ALYS_HEAPVIEW_OBJECTS_H

#include "collector/collector.h"
#include "heapgraph/parts.h"
#include "heapview/heapview.h"

struct global { /* a variable of the program, by address */
	uint64_t start, end;
	const char *name; /* borrowed from the program's elf */
};

struct objects {
	struct graph graph;
	struct types types;
	struct fields fields;
	uint32_t tgid;
	char comm[64];
	char exe[4096];
	uint64_t start_ns; /* of the process, CLOCK_MONOTONIC */
	uint64_t read_ns;  /* when it was read */
	uint64_t gc_no;
	uint64_t frozen_ns;  /* how long the process was stopped; 0 = it ran */
	uint64_t unreadable; /* unreadable parts of the heap and of roots */
	uint32_t live;       /* enum graph_live */
	uint32_t unknown_stacks;
	bool nameless;       /* the collector's variables have no symbols: some of them count as roots. Not in dumps */
	bool torn;           /* the heap was being collected, or does not fit together */
	uint64_t unsearched; /* bytes of memory beside the heap that may hold addresses and were not read. Not in dumps */

	/* Names are borrowed from these. */
	struct elf *program, *with_fields;
	int program_fd, with_fields_fd;
	struct space space;
	struct global *globals;
	size_t globals_cnt, globals_cap;
	struct parts_reader *parts; /* for a dump; NULL = a live process */
};

/* Opens files now, for callers that drop privileges before objects_read. 0 or -errno. */
int objects_keep_files(const struct heap_ask *ask, struct err *err);
/* Of a collected heap: 0, or -ESRCH, -ENOENT (no collector), -EPERM, ... with one sentence in err. Nothing stays stopped. */
int objects_read(struct objects *o, const struct heap_ask *ask, struct err *err);
void objects_free(struct objects *o);
/* For others that read objects: the names of variables, with program, exe and space filled in. */
void objects_read_globals(struct objects *o);
/* What -errno of a copy means, -EFBIG and -ETIMEDOUT among them. */
int objects_unread(uint32_t tgid, int rc, struct err *err);

/* Describes a root, for people; usable as a callback (ctx is the struct objects). */
void objects_root_name(void *ctx, const struct graph_root *root, struct buf *out);
/* "process 12 (site): 4,544 live objects, 1.2 MiB; approximate: ...", for people. */
void objects_describe(const struct objects *o, struct buf *out);
/* All type ids with this name, *ids freed by the caller; -ENOENT with the nearest names if there are none. */
int objects_type(const struct objects *o, const char *name, uint32_t **ids, size_t *cnt, struct err *err);

#endif
