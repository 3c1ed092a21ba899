/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapgraph/graph: the objects of a heap and which references which. In: a reading of a collected heap, a copy of its
 * words and of the roots (or, from elsewhere, objects and edges). Out: live objects by address, edges in both directions,
 * roots. Knows no names and writes nothing.
 *
 * GRAPH_REACHED: live is what the collector would find if it marked the copy now: everything reachable from roots
 * through any word that could be the address of an object or of its interior. If the program was stopped while the copy
 * was made, this is exactly the collector's view; otherwise objects that were passed around meanwhile may be missing,
 * and dead ones present. Objects need not have survived a collection. GRAPH_MARKED uses the marks of the last cycle
 * instead: objects may be dead by now, and newer ones are missing. GRAPH_IN_USE, of heaps without a collector: all blocks that
 * were not freed, whether or not anything leads to them; nothing is known of what their words are.
 */
#ifndef ALYS_HEAPGRAPH_GRAPH_H
#define ALYS_HEAPGRAPH_GRAPH_H

#include "marking/roots.h"

enum graph_live { GRAPH_REACHED, GRAPH_MARKED, GRAPH_IN_USE };

#define GRAPH_NONE UINT32_MAX

struct graph_object {
	uint64_t addr, size; /* size: of the collector's cell, at least the requested size */
	uint64_t asked;      /* bytes requested, 0 = unknown */
	uint32_t type;       /* 0 = raw memory */
	uint32_t owner;      /* for raw memory referenced by exactly one typed object: that object; else GRAPH_NONE */
	uint32_t site;       /* of its allocation, 0 = unknown; set by the caller */
	uint8_t kind;        /* enum heap_kind */
	bool marked;         /* in the collector's last cycle */
};

struct graph_edge {
	uint32_t other;      /* object */
	uint32_t word : 31;  /* index of the word in the holder */
	uint32_t inside : 1; /* it is not the address at which the object begins */
};

struct graph_root {
	enum root_kind kind;
	uint32_t tid;   /* of a thread; otherwise 0 */
	uint64_t addr;  /* where the word is; registers: number */
	uint64_t range; /* start of its stack or variables */
	uint32_t to;
};

struct graph {
	struct graph_object *objects; /* by address */
	size_t objects_cnt, objects_cap;
	uint64_t *out_first, *in_first; /* objects_cnt + 1 entries */
	struct graph_edge *out, *in;    /* out: by word; in: by holder and word */
	uint64_t edges_cnt;
	struct graph_root *roots;
	size_t roots_cnt, roots_cap;
};

/*
 * The type of an object by its first four bytes; 0 = raw memory. settle is called when all have one, and may revoke
 * some.
 */
struct graph_typing {
	uint32_t (*type_of)(void *ctx, uint32_t first, uint64_t size, uint8_t kind);
	int (*settle)(void *ctx, struct graph *g); /* -ENOMEM */
	void *ctx;
};

/* 0, -ENOMEM, or -EFBIG: more than 4 G objects. */
int graph_scan(struct graph *g, const struct boehm_heap *h, const struct words *w, const struct roots *r, enum graph_live live,
	       const struct graph_typing *typing);
/*
 * For callers that filled objects, out_first, out, edges_cnt and roots themselves: checks them, and computes the
 * in-edges and owners. -EBADMSG if they are inconsistent.
 */
int graph_finish(struct graph *g);
void graph_free(struct graph *g);

/* The object that contains the address, GRAPH_NONE if there is no live one. */
uint32_t graph_find(const struct graph *g, uint64_t addr);

/*
 * Bytes of the object and of everything reachable from it, each counted once. marks: objects_cnt entries, all below
 * stamp.
 */
uint64_t graph_reach(const struct graph *g, const uint32_t *from, size_t from_cnt, uint32_t *marks, uint32_t stamp,
		     uint32_t *stack);

/*
 * Shortest paths from the roots: via[i] is the in-edge (index in g->in) or, with GRAPH_VIA_ROOT, the root by which
 * object i is first reached; GRAPH_NO_WAY if it is unreachable. via has objects_cnt entries.
 */
#define GRAPH_VIA_ROOT (1ull << 63)
#define GRAPH_NO_WAY UINT64_MAX
int graph_ways(const struct graph *g, uint64_t *via);

#endif
