/* SPDX-License-Identifier: Apache-2.0 */
/* heapview: the heap of a running process, read from outside: census, graph, dump. */
#ifndef ALYS_HEAPVIEW_H
#define ALYS_HEAPVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "report/report.h"

struct census_options {
	struct report_options report; /* pid, format, order, filters */
	const char *type_ids;         /* the compiler's list of types, NULL = none */
	const char *learn;            /* a trace of the process, from whose stacks type names are learnt; NULL = none */
	double gc_wait;               /* seconds to wait for a collection */
	bool heap, counts;
	bool malloc; /* blocks of malloc, even where there is a collector */
	bool freeze; /* of malloc: stop the process while its heap is copied */
};

/* Which heap, and how it is read: shared by graph and dump. */
struct heap_ask {
	uint32_t pid;
	bool freeze;          /* stop the process while its heap is copied */
	bool malloc;          /* blocks of malloc, even where there is a collector */
	uint32_t live;        /* enum graph_live */
	const char *type_ids; /* the compiler's list of types; NULL = none */
	const char *fields;   /* a --debug build of the same program, for names of fields; NULL = the program itself */
	const char *learn;    /* a trace of the process, from whose stacks type names are learnt; NULL = none */
};

struct graph_options {
	struct heap_ask heap;
	const char *input; /* a dump; NULL: the live process heap.pid */
	const char *type;
	uint32_t levels, limit; /* 0 = all */
	uint32_t format;        /* mermaid, dot, json */
	uint32_t show;          /* graph, counts, sizes */
	uint64_t object;        /* instead of a type: the object at this address; 0 = none */
	uint64_t address;       /* only the size of this object; 0 = none */
	bool paths;
};

struct dump_options {
	struct heap_ask heap;
	const char *output;
	const char *sites; /* a trace of the process: where its objects were allocated; NULL = none */
	bool force;
	char *words; /* the options as given */
};

struct objects;
/* See heapview/objects. */
typedef int (*objects_read_fn)(struct objects *o, const struct heap_ask *ask, struct err *err);

/* Both return the exit status. */
int graph_run(const struct graph_options *o, objects_read_fn read, struct err *err);
int dump_run(const struct dump_options *o, objects_read_fn read, struct err *err);

#endif
