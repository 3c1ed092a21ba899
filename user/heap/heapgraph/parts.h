/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapgraph/parts: a graph with its names as runs of bytes for a file, and back. The file may be anybody's:
 * numbers are checked, nothing is made larger than the bytes that ask for it allow. Knows no files.
 *
 * A part begins with its kind; varint, zigzag and text are those of the .alys format, except that texts
 * have a zero behind them, outside their length. Parts come in this order; each may come several times:
 *
 *   1 facts    varints: version 2, pid, start of process, time of reading, gc_no, ns frozen, unreadable parts,
 *              live (0 reached, 1 marked, 2 in use), stacks not known, torn, objects, edges, roots; text comm, text exe
 *   2 types    each: varint id, u8 how known, text name, varint bytes of an instance (0 = not known), varint n, then n
 *              fields: varint offset, text name
 *   3 objects  each: varint distance from the end of the last object, varint bytes, varint bytes asked for (0 = not
 *              known), varint type, varint stack id of its allocation (0 = not known), u8 kind, 128 = marked
 *   4 edges    each: varint holder less last holder, varint n (1 to 4096), then n: varint 2 * words from the edge before
 *              (the holder's first one: from its begin) + 1 if it leads inside, zigzag held object less holder; in
 *              version 1 just the words
 *   5 roots    each: u8 kind, varint thread, varint address, varint begin of its range, varint object, text name
 */
#ifndef ALYS_HEAPGRAPH_PARTS_H
#define ALYS_HEAPGRAPH_PARTS_H

#include "base/cursor.h"
#include "heapgraph/picture.h"

struct parts_facts {
	uint32_t tgid, live, unknown_stacks;
	bool torn;
	uint64_t start_ns, read_ns, gc_no, frozen_ns, unreadable;
	uint64_t objects, edges, roots;
	const char *comm, *exe;
};

/* Hands over part by part, each below 512 KiB; 0, -ENOMEM, or what put returned. counts in facts are filled in. */
int parts_encode(const struct picture *p, const struct parts_facts *facts, int (*put)(void *ctx, const struct buf *part),
		 void *ctx);

struct parts_reader { /* zeroed but for the first four */
	struct graph *graph;
	struct types *types;
	struct fields *fields;
	uint64_t max_bytes; /* of memory */

	struct parts_facts facts; /* after the first part */
	const char **root_names;  /* a root each; the taker's to free */
	size_t root_names_cnt, root_names_cap;
	void **kept; /* parts that texts are borrowed from: parts_reader_free when graph and names are done with */
	size_t kept_cnt, kept_cap;
	uint64_t end;    /* of the last object */
	uint64_t holder; /* of the last edge */
	uint64_t version, word, used;
	size_t edges_cap;
};

/* 0, -EBADMSG: no such part or damaged, -EFBIG: over max_bytes, -ENOMEM. */
int parts_take(struct parts_reader *r, const void *bytes, size_t n);
/* After the last: everything there that the first part promised? Completes the graph. */
int parts_end(struct parts_reader *r);
void parts_reader_free(struct parts_reader *r);

#endif
