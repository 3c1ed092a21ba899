/* SPDX-License-Identifier: Apache-2.0 */
/*
 * catalog/exactness: how exact the live set of collected heaps is. Stored as numbers in a recording's metadata and
 * turned into text when it is read. Older traces contain the text itself.
 */
#ifndef ALYS_CATALOG_EXACTNESS_H
#define ALYS_CATALOG_EXACTNESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "catalog/catalog.h"
#include "event/unseen.h"

enum exactness_state {
	EXACTNESS_NO_HEAP, /* no heap is collected */
	EXACTNESS_EXACT,
	EXACTNESS_BOUND, /* an upper bound */
	EXACTNESS_NONE,  /* nothing is known of any heap */
};

/* Which objects are covered. */
enum exactness_part { PART_ALL, PART_SAMPLED, PART_RECORDED };

/* Heaps whose collections are not observed: how many, and the first of them. */
struct exactness_heaps {
	uint64_t cnt;
	uint32_t tgid; /* 0 = of any process */
	enum gc_unseen why;
	uint32_t error;
	char comm[64], object[400]; /* as in struct unseen; "" = none */
};

struct exactness {
	enum exactness_state state;
	enum exactness_part part;
	struct exactness_heaps unjudged, polled; /* polled: known by their counter only */
	uint32_t incremental_tgid;               /* a process that collects incrementally, 0 = none */
	uint64_t missed, collections, lost;      /* lost: records of collections */
	uint64_t unknown, unknown_sz, marked_sz; /* marked by the last collection and not recorded */
	bool uncompared;                         /* no collection could be compared with the records in time */
};

void exactness_note(struct exactness_heaps *h, uint32_t tgid, const char *comm, const struct unseen *u);

/* Metadata key of the state, one word; in older traces, of the whole text. */
#define EXACTNESS_KEY "liveness"
/* Metadata key of the other members; "" = none. */
#define EXACTNESS_FACTS_KEY "liveness_facts"
/* The values of the two keys. */
const char *exactness_state_word(enum exactness_state s);
void exactness_write(const struct exactness *e, struct buf *facts);

/* From metadata; in older traces, from their text. */
enum exactness_state exactness_state_of(const struct catalog *c);
/*
 * "exact", "exact for what was sampled", "upper bound (2 of 40 collections missed)", "none (why)"; "" where no heap is
 * collected.
 */
void exactness_text(const struct exactness *e, struct buf *out);
void exactness_text_of(const struct catalog *c, struct buf *out);
/* Only the part in parentheses; and "what was sampled", "" = all objects. */
void exactness_reason_of(const struct catalog *c, struct buf *out);
const char *exactness_part_of(const struct catalog *c);
/* "libgc.so: no symbol GC_gc_no: collections cannot be watched" */
void unseen_text(const struct unseen *u, struct buf *out);

#endif
