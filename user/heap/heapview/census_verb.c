/* SPDX-License-Identifier: Apache-2.0 */
/* heapview/census_verb: see census_verb.h. */
#include "heapview/census_verb.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/vec.h"
#include "collector/collector.h"
#include "collector/prove.h"
#include "heapgraph/census.h"
#include "heapview/heapview.h"
#include "heapview/typed_sites.h"
#include "recorder/live.h"
#include "report/heap_table.h"
#include "target/proc.h"

#define POLL_NS 1000000
#define LEARN_MAX (8ull << 30)

struct taking {
	const struct census_options *o;
	struct collector collector;
	struct boehm_heap heap;
	uint64_t *words; /* first word of each object */
	struct types types;
	struct buf notes;
	char layout[600];
};

static const char *kind_name(uint8_t kind)
{
	static const char *const names[] = {
		[HEAP_ATOMIC] = "no pointers",
		[HEAP_NORMAL] = "pointers",
		[HEAP_UNCOLLECTABLE] = "never collected",
		[HEAP_ATOMIC_UNCOLLECTABLE] = "never collected, no pointers",
	};
	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "of the program's own";
}

/* --- reading ------------------------------------------------------------------------------------ */

/* Waits for the program's next collection, so that the marks are fresh. */
static int await_collection(struct taking *t, struct err *err)
{
	uint64_t first, now, until = now_ns() + (uint64_t)(t->o->gc_wait * 1e9);
	struct memory *m = &t->collector.memory;
	const struct layout *l = &t->collector.layout;
	int rc = t->o->gc_wait > 0 ? boehm_gc_no(m, l, &first) : 0;
	if (rc == -ENOENT)
		return err_set(err, ENOTSUP, "--gc-wait: the collection counter of process %u was not found", m->tgid);
	for (now = first = rc || t->o->gc_wait <= 0 ? 0 : first; !rc && now == first && now_ns() < until;) {
		struct timespec pause = { .tv_nsec = POLL_NS };
		nanosleep(&pause, NULL);
		rc = boehm_gc_no(m, l, &now);
	}
	if (!rc && t->o->gc_wait > 0 && now == first)
		buf_addf(&t->notes, "no collection within %g s: these are the marks of an earlier one\n", t->o->gc_wait);
	return rc ? err_set(err, ESRCH, "process %u (%s) ended while waiting for a collection", m->tgid, t->collector.comm) : 0;
}

static void describe(struct taking *t)
{
	const struct boehm_heap *h = &t->heap;
	const struct collector *c = &t->collector;
	char layout[160];
	struct buf proof = { 0 };
	layout_describe(&c->layout, layout, sizeof(layout));
	prove_text(&c->proof, &proof);
	snprintf(t->layout, sizeof(t->layout), "%s; %s", layout, buf_str(&proof));
	buf_free(&proof);
	if (!h->gc_no && !h->unnumbered)
		buf_adds(&t->notes, "it has not collected yet: nothing is marked but what is never collected\n");
	else
		buf_addf(&t->notes,
			 "process %u (%s): objects that collection %" PRIu64
			 "%s reached; younger ones are not marked and not counted\n",
			 c->memory.tgid, c->comm, h->gc_no, h->unnumbered ? ", or a later one," : "");
	if (h->torn)
		buf_adds(&t->notes, "it collected all the time while it was read: marks are of two collections, and some live "
				    "objects may be missing\n");
	if (c->layout.incremental)
		buf_adds(&t->notes, "it collects in steps: what is marked is an upper bound\n");
	buf_addf(&t->notes, "%s: %s; read in %.1f ms, without stopping it\n", c->layout.file, t->layout,
		 (double)h->took_ns / 1e6);
	if (h->listed_cnt)
		buf_addf(&t->notes,
			 "%" PRIu64 " marked slots (%" PRIu64 " bytes) look like free ones that threads keep: left out\n",
			 h->listed_cnt, h->listed_bytes);
	if (h->bad_headers)
		buf_addf(&t->notes, "%u blocks changed while they were read and were left out\n", h->bad_headers);
}

static struct census_facts facts_of(struct taking *t)
{
	return (struct census_facts){
		.tgid = t->collector.memory.tgid,
		.command = t->collector.comm,
		.collector = t->collector.layout.file,
		.layout = t->layout,
		.gc_no = t->heap.gc_no,
		.upper_bound = t->collector.layout.incremental || t->heap.torn,
		.took_ms = (double)t->heap.took_ns / 1e6,
		.notes = buf_str(&t->notes),
	};
}

/* --- by type ------------------------------------------------------------------------------------ */

static const char *known_text(enum type_known known)
{
	static const char *const texts[] = {
		[TYPE_UNKNOWN] = "unknown",        [TYPE_LEARNED] = "learned", [TYPE_FROM_SYMBOLS] = "symbols",
		[TYPE_FROM_COMPILER] = "compiler", [TYPE_ALWAYS] = "always",
	};
	return texts[known];
}

static void name_row(const struct types *types, uint32_t id, struct buf *out, const char **known)
{
	const struct type_name *n = CENSUS_IS_TYPE(id) ? types_get(types, id) : NULL;
	*known = CENSUS_IS_TYPE(id) ? known_text(n ? n->known : TYPE_UNKNOWN) : "-";
	if (id == CENSUS_BUFFER)
		buf_adds(out, "(buffer)");
	else if (id == CENSUS_DATA)
		buf_adds(out, "(buffer without pointers)");
	else
		types_text(types, id, out);
}

static int add_rows(const struct taking *t, const struct census *c, struct type_table *out)
{
	for (size_t i = 0; i < c->types_cnt; i++) {
		const struct census_type *from = &c->types[i];
		struct type_row *row = VEC_PUSH(out, rows);
		struct buf name = { 0 };
		const char *known;
		name_row(&t->types, from->id, &name, &known);
		char *copy = row && !name.failed ? strdup(buf_str(&name)) : NULL;
		buf_free(&name);
		if (!copy)
			return -ENOMEM;
		*row = (struct type_row){ copy, known, (double)from->cnt, (double)from->bytes, CENSUS_IS_TYPE(from->id) };
	}
	out->cnt = (double)c->cnt;
	out->bytes = (double)c->bytes;
	return 0;
}

static void free_rows(struct type_table *t)
{
	for (size_t i = 0; i < t->rows_cnt; i++)
		free((char *)t->rows[i].name);
	free(t->rows);
}

static void note_census(struct taking *t, const struct census *c, bool typed)
{
	size_t named = 0, unnamed = 0;
	for (size_t i = 0; i < c->types_cnt; i++) {
		const struct census_type *row = &c->types[i];
		named += CENSUS_IS_TYPE(row->id) && types_get(&t->types, row->id);
		unnamed += CENSUS_IS_TYPE(row->id) && !types_get(&t->types, row->id);
	}
	if (!typed)
		buf_adds(&t->notes, "it is no program of Crystal's: its objects have no type id\n");
	else if (unnamed)
		buf_addf(&t->notes,
			 "%zu of %zu types have no name here: --type-ids FILE takes what `CRYSTAL_DUMP_TYPE_ID=1 crystal build` "
			 "prints, --learn a recording\n",
			 unnamed, named + unnamed);
	if (c->doubted)
		buf_addf(&t->notes,
			 "%" PRIu64 " objects begin with a number that is a type's but are not of its size: counted as buffers\n",
			 c->doubted);
}

/* Counters captured by closures look like class ids, unless the ids of classes are known. */
static void note_doubtful(struct taking *t, const struct census *c)
{
	if (!c->doubtful)
		return;
	buf_addf(&t->notes, "%" PRIu64 " objects, ", c->doubtful);
	text_bytes(&t->notes, (double)c->doubtful_bytes);
	buf_adds(&t->notes, ", of types without a name are doubtful: the numbers beside theirs stand in front of as many like "
			    "them, as those of "
			    "closures and tuples do; --type-ids FILE tells which are none\n");
}

static int write_census(struct taking *t, const struct census *c, struct sink_out *out, struct err *err)
{
	struct type_table table = { .facts = facts_of(t),
				    .doubtful = (double)c->doubtful,
				    .doubtful_bytes = (double)c->doubtful_bytes };
	int rc = add_rows(t, c, &table) ? err_set(err, ENOMEM, "out of memory") : 0;
	size_t rows = table.rows_cnt;
	if (!rc && t->o->counts)
		rc = report_type_lines(&table, false, &t->o->report, out, err);
	else if (!rc)
		rc = report_types(&table, &t->o->report, out, err);
	table.rows_cnt = rows; /* free the rows that were hidden as well */
	free_rows(&table);
	return rc;
}

static int take_census(struct taking *t, struct sink_out *out, struct err *err)
{
	struct census c;
	bool typed = t->o->type_ids || t->o->learn || t->types.names_cnt > 1 || collector_is_crystal(&t->collector);
	int rc = census_take(&t->heap, t->words, &t->types, !typed, &c, err);
	if (rc)
		return rc;
	note_census(t, &c, typed);
	note_doubtful(t, &c);
	rc = write_census(t, &c, out, err);
	census_free(&c);
	return rc;
}

/* --- accounts ----------------------------------------------------------------------------------- */

static int add_classes(const struct accounts *a, struct account_table *out)
{
	for (size_t i = 0; i < a->classes_cnt; i++) {
		const struct size_class *c = &a->classes[i];
		struct class_row *row = VEC_PUSH(out, rows);
		if (!row)
			return -ENOMEM;
		*row = (struct class_row){
			.size = (double)c->size,
			.kind = kind_name(c->kind),
			.blocks = (double)c->blocks,
			.block_bytes = (double)c->block_bytes,
			.slots = (double)c->slots,
			.live = (double)c->live,
			.live_bytes = (double)c->live_bytes,
			.sparse_blocks = (double)c->sparse_blocks,
		};
	}
	return 0;
}

static void count_pinned(const struct boehm_heap *h, struct account_table *out)
{
	uint32_t *blocks;
	size_t n = accounts_pinned(h, CENSUS_PINNED_SHARE, &blocks);
	for (size_t i = 0; i < n; i++)
		out->pinned_bytes += (double)(h->blocks[blocks[i]].live * h->blocks[blocks[i]].size);
	out->pinned_blocks = (double)n;
	free(blocks);
}

static int take_accounts(struct taking *t, struct sink_out *out, struct err *err)
{
	const struct boehm_heap *h = &t->heap;
	struct accounts a;
	long rss = proc_status_value(t->collector.memory.through, "VmRSS");
	if (accounts_take(h, &a))
		return err_set(err, ENOMEM, "out of memory");
	struct account_table table = {
		.facts = facts_of(t),
		.rss = rss > 0 ? (double)rss * 1024 : 0,
		.heap = (double)h->heap_bytes,
		.live = (double)a.live_bytes,
		.slack = (double)a.slack_bytes,
		.free = (double)h->free_bytes,
		.unmapped = (double)h->unmapped_bytes,
		.largest_free = (double)a.largest_gap,
	};
	count_pinned(h, &table);
	int rc = add_classes(&a, &table) ? err_set(err, ENOMEM, "out of memory") : 0;
	rc = rc ?: report_accounts(&table, &t->o->report, out, err);
	free(table.rows);
	accounts_free(&a);
	return rc;
}

static int unlist(struct taking *t, struct err *err)
{
	int rc = boehm_unlist(&t->collector.memory, &t->heap, &t->words);
	return rc ? err_set(err, -rc, "process %u (%s): its objects cannot be read: %s", t->collector.memory.tgid,
			    t->collector.comm, strerror(-rc))
		  : 0;
}

/* Learns type names from the first words of recorded objects that are still there. */
static int learn(struct taking *t, struct err *err)
{
	struct words w;
	int rc = words_begin(&w, &t->heap, LEARN_MAX);
	if (!rc)
		rc = words_copy(&w, &t->collector.memory, &t->heap, 0);
	if (rc)
		rc = err_set(err, -rc, "process %u (%s): its objects cannot be read for --learn: %s", t->collector.memory.tgid,
			     t->collector.comm, strerror(-rc));
	else
		rc = learn_types(&t->types, t->o->learn, t->collector.memory.tgid, &t->heap, &w, err);
	words_free(&w);
	return rc;
}

/* --- the command ---------------------------------------------------------------------------------- */

static int take(struct taking *t, struct sink_out *out, struct err *err)
{
	int rc = collector_types(&t->collector, t->o->type_ids, &t->types, err);
	if (!rc)
		rc = await_collection(t, err);
	if (!rc)
		rc = collector_read(&t->collector, &t->heap, err);
	if (!rc)
		rc = unlist(t, err);
	if (!rc && t->o->learn)
		rc = learn(t, err);
	if (rc)
		return rc;
	describe(t);
	return t->o->heap ? take_accounts(t, out, err) : take_census(t, out, err);
}

int census_write(const struct census_options *o, struct boehm_heap *heap, struct sink_out *out, struct err *err)
{
	struct taking t = { .o = o };
	int rc = collector_open(&t.collector, o->report.pid, err);
	if (!rc && o->freeze) {
		rc = err_set(err, EINVAL,
			     "process %u (%s): --freeze is for malloc, and marks do not change: leave it out, or add --malloc",
			     t.collector.memory.tgid, t.collector.comm);
		collector_close(&t.collector);
	}
	if (!rc) {
		rc = take(&t, out, err);
		collector_close(&t.collector);
	}
	if (!rc && heap)
		*heap = t.heap;
	else
		boehm_heap_free(&t.heap);
	free(t.words);
	types_free(&t.types);
	buf_free(&t.notes);
	return rc;
}
