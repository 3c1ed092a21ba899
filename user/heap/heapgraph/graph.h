/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapgraph/graph: the objects of a collected heap and who holds whom. In: a reading of the heap, a copy of
 * its words and of the roots (or, from a dump, the objects and edges themselves). Out: live objects by
 * address, edges in both directions, roots. Knows no names and writes nothing.
 *
 * Live is what the collector would find if it marked the copy now: all that roots lead to, through every
 * word that could be an address of an object or of anything inside it (GRAPH_REACHED). With the program
 * frozen while the copy was made, that is the truth as the collector has it; without, objects that moved
 * from hand to hand meanwhile may be missing, and dead ones be there. Objects need not have seen a
 * collection. GRAPH_MARKED takes the collector's word instead: what its last cycle marked, dead by now or
 * not, and nothing that was allocated since.
 */
#ifndef ALYS_HEAPGRAPH_GRAPH_H
#define ALYS_HEAPGRAPH_GRAPH_H

#include "marking/roots.h"

enum graph_live { GRAPH_REACHED, GRAPH_MARKED };

#define GRAPH_NONE UINT32_MAX

struct graph_object {
	uint64_t addr, size; /* size: of the collector's cell, at least what was asked for */
	uint64_t asked;      /* bytes asked for, 0 = not known */
	uint32_t type;       /* 0 = raw memory */
	uint32_t owner;      /* raw memory that one typed object alone holds: that object; else GRAPH_NONE */
	uint32_t site;       /* of its allocation, 0 = not known; for who fills it */
	uint8_t kind;        /* enum heap_kind */
	bool marked;         /* by the collector's last cycle */
};

struct graph_edge {
	uint32_t other; /* object */
	uint32_t word;  /* of the holder, from its begin */
};

struct graph_root {
	enum root_kind kind;
	uint32_t tid;   /* of a thread, else 0 */
	uint64_t addr;  /* where the word is; registers: which */
	uint64_t range; /* where its stack or variables begin */
	uint32_t to;
};

struct graph {
	struct graph_object *objects; /* by address */
	size_t objects_cnt, objects_cap;
	uint64_t *out_first, *in_first; /* objects_cnt + 1 places */
	struct graph_edge *out, *in;    /* out: by word; in: by holder and word */
	uint64_t edges_cnt;
	struct graph_root *roots;
	size_t roots_cnt, roots_cap;
};

/* The type of an object by its first four bytes; 0 = raw memory. settle, when all have one, may take some back. */
struct graph_typing {
	uint32_t (*type_of)(void *ctx, uint32_t first, uint64_t size, uint8_t kind);
	int (*settle)(void *ctx, struct graph *g); /* -ENOMEM */
	void *ctx;
};

/* 0, -ENOMEM, or -EFBIG: more than 4 G objects. */
int graph_scan(struct graph *g, const struct boehm_heap *h, const struct words *w, const struct roots *r, enum graph_live live,
	       const struct graph_typing *typing);
/*
 * For who filled objects, out_first, out, edges_cnt and roots itself: checks the numbers, makes the other
 * direction and owners. -EBADMSG when they do not fit together.
 */
int graph_finish(struct graph *g);
void graph_free(struct graph *g);

/* The object that holds the address, GRAPH_NONE when no live one does. */
uint32_t graph_find(const struct graph *g, uint64_t addr);

/* Bytes of the object and of all it leads to, each counted once. marks: objects_cnt places, all below stamp. */
uint64_t graph_reach(const struct graph *g, const uint32_t *from, size_t from_cnt, uint32_t *marks, uint32_t stamp,
		     uint32_t *stack);

/*
 * Shortest ways from the roots: via[i] is the in-edge (place in g->in) or, with GRAPH_VIA_ROOT, the root by
 * which object i is reached first; GRAPH_NO_WAY when none leads there. via has objects_cnt places.
 */
#define GRAPH_VIA_ROOT (1ull << 63)
#define GRAPH_NO_WAY UINT64_MAX
int graph_ways(const struct graph *g, uint64_t *via);

#endif
