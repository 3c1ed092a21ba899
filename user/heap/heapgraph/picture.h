/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapgraph/picture: renders a heap graph as text: who holds objects of a type (mermaid, compatible with MemProf, dot
 * or JSON), number of objects by type and the bytes they retain. In: a graph, names of types and fields. Out: bytes;
 * same input, same bytes.
 */
#ifndef ALYS_HEAPGRAPH_PICTURE_H
#define ALYS_HEAPGRAPH_PICTURE_H

#include "base/buf.h"
#include "heapgraph/fields.h"
#include "heapgraph/graph.h"
#include "heapgraph/types.h"

struct picture {
	const struct graph *graph;
	const struct types *types;
	const struct fields *fields;
	/* The objects in question: type ids, and the name as requested. */
	const uint32_t *ids;
	size_t ids_cnt;
	const char *type;
	uint32_t object; /* or only this one; GRAPH_NONE: by type */
	uint32_t levels; /* of indirection shown, 0 = all */
	uint32_t limit;  /* objects of the type shown, 0 = all */
	bool paths;      /* with shortest paths from roots */
	bool guesses;    /* nothing is known of words: each that could be an address counts as one */
	/* Describes a root, for people: "global Foo::BAR in /usr/bin/x"; cleaned. */
	void (*root_name)(void *ctx, const struct graph_root *root, struct buf *out);
	void *ctx;
};

/* Is it one of the objects whose holders are drawn, within limit? */
bool picture_is_target(const struct picture *p, uint32_t object);

/* All return 0 or -ENOMEM. */
int picture_mermaid(const struct picture *p, struct buf *out);
int picture_dot(const struct picture *p, struct buf *out);
/* The members "conservative" to "paths" of a JSON object, without braces: the caller adds others. */
int picture_json(const struct picture *p, struct buf *out);

/* "Array(Foo)", "(class 88)", "(class 0)" = raw memory; with owner also "Array(Foo) (buffer)". */
void picture_name(const struct picture *p, uint32_t object, bool owner, struct buf *out);
/* Number of lines, then "COUNT\tTYPE" and "BYTES\tTYPE", most first. Typed objects only. */
int picture_counts(const struct picture *p, struct buf *out);
int picture_sizes(const struct picture *p, struct buf *out);
/* Bytes of one object and of everything reachable from it. -ENOMEM. */
int picture_size(const struct picture *p, uint32_t object, uint64_t *out);

#endif
