/* SPDX-License-Identifier: Apache-2.0 */
/* mallocview/malloc_verb: see malloc_verb.h. */
#include "mallocview/malloc_verb.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"
#include "glibc/classes.h"
#include "glibc/malloc_proof.h"
#include "glibc/sums.h"
#include "mallocview/malloc_pins.h"
#include "mallocview/malloc_reading.h"
#include "mallocview/malloc_rss.h"
#include "report/heap_table.h"
#include "report/malloc_table.h"

#define MEMORY_LINES 12
#define ARENAS_NOTED 8

struct taking {
	const struct census_options *o;
	const struct recorded_heap *recorded; /* NULL: none */
	struct malloc_reading reading;
	struct glibc_sums sums;
	struct buf notes, facts, allocator, proof;
};

/* --- what is said beside the table ------------------------------------------------------------------ */

static const struct {
	enum chunk_state state;
	const char *key, *text;
} free_states[] = {
	{ CHUNK_TCACHE, "tcache", "in threads' caches" },      { CHUNK_FASTBIN, "fastbin", "in fastbins" },
	{ CHUNK_UNSORTED, "unsorted", "in the unsorted bin" }, { CHUNK_SMALL, "small_bin", "in small bins" },
	{ CHUNK_LARGE, "large_bin", "in large bins" },         { CHUNK_TOP, "top", "at the top of arenas" },
};

#define FREE_STATES (sizeof(free_states) / sizeof(free_states[0]))

static void note_count(struct buf *out, uint64_t cnt, const char *what, uint64_t bytes)
{
	text_count(out, cnt);
	buf_addf(out, " %s, ", what);
	text_bytes(out, (double)bytes);
}

static void describe_free(struct taking *t)
{
	const char *before = "free: ";
	for (size_t i = 0; i < FREE_STATES; i++) {
		const struct glibc_sum *s = &t->sums.of[free_states[i].state];
		buf_addf(&t->facts, "\"%s\":%" PRIu64 ",\"%s_bytes\":%" PRIu64 ",", free_states[i].key, s->cnt,
			 free_states[i].key, s->bytes);
		if (!s->cnt)
			continue;
		buf_adds(&t->notes, before);
		note_count(&t->notes, s->cnt, free_states[i].text, s->bytes);
		before = "; ";
	}
	buf_adds(&t->notes, *before == ';' ? "\n" : "");
}

/* Where there are several: of so many in text, of all in JSON. */
static void note_arena(struct taking *t, uint32_t i, const struct glibc_sums *s)
{
	const struct glibc_heap *h = &t->reading.heap;
	if (h->arenas_cnt == 1 || i > ARENAS_NOTED)
		return;
	if (i == ARENAS_NOTED) {
		buf_addf(&t->notes, "%zu more arenas: see -f json\n", h->arenas_cnt - i);
		return;
	}
	buf_addf(&t->notes, "arena 0x%" PRIx64 ": ", h->arenas[i].addr);
	note_count(&t->notes, s->of[CHUNK_USED].cnt, "blocks in use", s->of[CHUNK_USED].bytes);
	buf_adds(&t->notes, "; free ");
	text_bytes(&t->notes, (double)glibc_sums_free(s));
	buf_adds(&t->notes, "\n");
}

static void describe_arenas(struct taking *t)
{
	const struct glibc_heap *h = &t->reading.heap;
	struct glibc_sums s;
	buf_adds(&t->facts, "\"arenas\":[");
	for (uint32_t i = 0; i < h->arenas_cnt; i++) {
		glibc_sums_take(h, i, NULL, &s);
		buf_addf(&t->facts,
			 "%s{\"address\":\"0x%" PRIx64 "\",\"bytes\":%" PRIu64 ",\"used\":%" PRIu64 ",\"used_bytes\":%" PRIu64
			 ",\"free_bytes\":%" PRIu64 ",\"tcache_bytes\":%" PRIu64 "}",
			 i ? "," : "", h->arenas[i].addr, s.arena_bytes, s.of[CHUNK_USED].cnt, s.of[CHUNK_USED].bytes,
			 glibc_sums_free(&s), s.of[CHUNK_TCACHE].bytes);
	}
	buf_addf(&t->facts, "],\"mmapped\":%zu,\"mmapped_bytes\":%" PRIu64 ",", h->mapped_cnt, t->sums.mapped.bytes);
	buf_addf(&t->notes, "%zu arena%s of ", h->arenas_cnt, h->arenas_cnt == 1 ? "" : "s");
	text_bytes(&t->notes, (double)t->sums.arena_bytes);
	buf_adds(&t->notes, h->mapped_cnt ? "; " : "\n");
	if (h->mapped_cnt) {
		note_count(&t->notes, h->mapped_cnt,
			   h->mapped_cnt == 1 ? "block in a mapping of its own" : "blocks in mappings of their own",
			   t->sums.mapped.bytes);
		buf_adds(&t->notes, "\n");
	}
	for (uint32_t i = 0; t->o->heap && i < h->arenas_cnt; i++) {
		glibc_sums_take(h, i, NULL, &s);
		note_arena(t, i, &s);
	}
}

static void describe_doubts(struct taking *t)
{
	const struct malloc_reading *r = &t->reading;
	const struct glibc_heap *h = &r->heap;
	buf_addf(&t->facts, "\"frozen_ms\":%.3f,\"readings\":%u,\"odd\":%" PRIu64 ",\"unread_bytes\":%" PRIu64 ",",
		 (double)r->frozen_ns / 1e6, r->readings, h->odd, h->unread_bytes);
	if (h->odd)
		buf_addf(&t->notes, "%" PRIu64 " things do not fit together: %s%s\n", h->odd, h->first_odd.text,
			 r->frozen_ns ? "" : "; it ran while it was read (--freeze stops it)");
	if (h->unread_bytes)
		buf_addf(&t->notes, "%" PRIu64 " bytes of the main arena lie scattered and were not found\n", h->unread_bytes);
	if (*r->process.others)
		buf_addf(&t->notes, "%s is mapped: its blocks are not among these\n", r->process.others);
}

static void describe(struct taking *t)
{
	const struct malloc_reading *r = &t->reading;
	const struct glibc_process *p = &r->process;
	buf_addf(&t->allocator, "glibc 2.%u%s", p->layout.version, elf_is_program(p->elf) ? " or later" : "");
	buf_addf(&t->notes, "process %u (%s), malloc of %s: ", p->memory.tgid, p->place.comm, buf_str(&t->allocator));
	describe_arenas(t);
	describe_free(t);
	glibc_proof_text(p, &t->proof);
	buf_addf(&t->notes, "%s: %s; read in %.1f ms, %s", p->file, buf_str(&t->proof), (double)r->took_ns / 1e6,
		 r->frozen_ns ? "frozen for " : "without stopping it\n");
	if (r->frozen_ns)
		buf_addf(&t->notes, "%.1f ms\n", (double)r->frozen_ns / 1e6);
	describe_doubts(t);
}

static struct census_facts facts_of(struct taking *t)
{
	return (struct census_facts){
		.tgid = t->reading.process.memory.tgid,
		.allocator = buf_str(&t->allocator),
		.more = buf_str(&t->facts),
		.command = t->reading.process.place.comm,
		.collector = t->reading.process.file,
		.layout = buf_str(&t->proof),
		.took_ms = (double)t->reading.took_ns / 1e6,
		.notes = buf_str(&t->notes),
	};
}

/* --- by class and size ---------------------------------------------------------------------------- */

static const char *known_text(enum class_known known)
{
	return known == CLASS_BY_RTTI ? "RTTI" : known == CLASS_BY_SYMBOL ? "symbol" : "-";
}

static char *name_of(const struct glibc_class *c)
{
	struct buf name = { 0 };
	glibc_class_text(c, &name);
	char *copy = name.failed ? NULL : strdup(buf_str(&name));
	buf_free(&name);
	return copy;
}

static int add_rows(const struct glibc_classes *c, struct type_table *out)
{
	for (size_t i = 0; i < c->all_cnt; i++) {
		const struct glibc_class *from = &c->all[i];
		struct type_row *row = from->cnt ? VEC_PUSH(out, rows) : NULL;
		if (!from->cnt)
			continue;
		char *name = row ? name_of(from) : NULL;
		if (!name)
			return -ENOMEM;
		*row = (struct type_row){ name, known_text(from->known), (double)from->cnt, (double)from->bytes,
					  from->name != NULL };
	}
	return 0;
}

static int write_classes(struct taking *t, const struct glibc_classes *c, struct sink_out *out, struct err *err)
{
	struct type_table table = { .facts = facts_of(t), .cnt = (double)c->cnt, .bytes = (double)c->bytes };
	int rc = add_rows(c, &table) ? err_set(err, ENOMEM, "out of memory") : 0;
	size_t rows = table.rows_cnt;
	if (!rc && t->o->counts)
		rc = report_type_lines(&table, false, &t->o->report, out, err);
	else if (!rc)
		rc = report_types(&table, &t->o->report, out, err);
	for (size_t i = 0; i < rows; i++)
		free((char *)table.rows[i].name);
	free(table.rows);
	return rc;
}

static int take_classes(struct taking *t, struct sink_out *out, struct err *err)
{
	struct malloc_reading *r = &t->reading;
	struct glibc_classes c;
	int rc = malloc_reading_take(r, &(struct malloc_how){ t->o->report.pid, MALLOC_READINGS, t->o->freeze }, NULL, NULL, err);
	if (rc)
		return rc;
	glibc_sums_take(&r->heap, ALL_ARENAS, NULL, &t->sums);
	describe(t);
	rc = glibc_classes_take(&r->process.memory, &r->process.space, &r->heap, &c);
	if (rc)
		rc = err_set(err, -rc, "process %u (%s): its classes cannot be read: %s", r->process.memory.tgid,
			     r->process.place.comm, strerror(-rc));
	if (!rc) {
		rc = write_classes(t, &c, out, err);
		glibc_classes_free(&c);
	}
	malloc_reading_free(r);
	return rc;
}

/* --- where the memory is -------------------------------------------------------------------------- */

static struct memory_line line_of(const char *key, const char *text, const struct glibc_sum *s)
{
	return (struct memory_line){ key, text, (double)s->resident, (double)s->bytes, (double)s->cnt };
}

static size_t list_lines(const struct malloc_rss *m, struct memory_line *out)
{
	const struct glibc_sum *of = m->sums.of;
	struct glibc_sum bins = { 0 }, ways[] = { of[CHUNK_UNSORTED], of[CHUNK_SMALL], of[CHUNK_LARGE], of[CHUNK_FREE] };
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		bins.cnt += ways[i].cnt;
		bins.bytes += ways[i].bytes;
		bins.resident += ways[i].resident;
	}
	const struct memory_line lines[MEMORY_LINES] = {
		{ "rss", "resident memory of the process (RSS)", (double)m->all.resident, 0, 0 },
		line_of("used", "  malloc: blocks in use", &of[CHUNK_USED]),
		line_of("mmapped", "  malloc: blocks in mappings of their own", &m->sums.mapped),
		line_of("tcache", "  malloc: free in threads' caches (tcache)", &of[CHUNK_TCACHE]),
		line_of("fastbin", "  malloc: free in fastbins", &of[CHUNK_FASTBIN]),
		line_of("bins", "  malloc: free in bins", &bins),
		line_of("top", "  malloc: free at the top of arenas", &of[CHUNK_TOP]),
		{ "anonymous", "  other anonymous memory, arenas' own tables included",
		  (double)(m->anonymous.resident + of[CHUNK_FENCE].resident), 0, 0 },
		{ "stacks", "  stacks", (double)m->stacks.resident, 0, 0 },
		{ "written", "  data of programs and libraries: private copies", (double)m->written, 0, 0 },
		{ "files", "  files: code and constants", (double)m->files.resident, 0, 0 },
		{ "shared", "  shared memory", (double)m->shared.resident, 0, 0 },
	};
	memcpy(out, lines, sizeof(lines));
	return MEMORY_LINES;
}

static int add_sizes(const struct glibc_sizes *s, struct malloc_table *out)
{
	for (size_t i = 0; i < s->all_cnt; i++) {
		const struct glibc_size *from = &s->all[i];
		const struct glibc_class like = { .size = from->size, .mapped = from->mapped };
		struct size_row *row = VEC_PUSH(out, rows);
		char *name = row ? name_of(&like) : NULL;
		if (!name) {
			out->rows_cnt -= row != NULL;
			return -ENOMEM;
		}
		const uint64_t *cnt = from->cnt;
		*row = (struct size_row){
			.name = name,
			.used = (double)cnt[CHUNK_USED],
			.used_bytes = (double)from->used_bytes,
			.tcache = (double)cnt[CHUNK_TCACHE],
			.fastbin = (double)cnt[CHUNK_FASTBIN],
			.bins = (double)(cnt[CHUNK_UNSORTED] + cnt[CHUNK_SMALL] + cnt[CHUNK_LARGE] + cnt[CHUNK_FREE]),
			.free_bytes = (double)from->free_bytes,
		};
	}
	return 0;
}

static void describe_held(struct taking *t, const struct held_pages *p)
{
	buf_addf(&t->facts, "\"pinned_pages\":%zu,\"pinned_used_bytes\":%" PRIu64 ",", p->all_cnt, p->used);
	if (p->all_cnt)
		buf_addf(&t->notes,
			 "%zu pages (%llu bytes) are kept by blocks of %" PRIu64
			 " bytes in all: at most a tenth of each is in use\n",
			 p->all_cnt, p->all_cnt * PAGE_BYTES, p->used);
}

static void describe_rss(struct taking *t, const struct malloc_rss *m)
{
	describe_held(t, &m->held);
	buf_addf(&t->facts, "\"trimmable\":%" PRIu64 ",\"swapped\":%" PRIu64 ",\"huge\":%" PRIu64 ",", m->sums.trimmable,
		 m->swapped, m->huge);
	buf_adds(&t->notes, "malloc_trim(0) would give back ");
	text_bytes(&t->notes, (double)m->sums.trimmable);
	buf_addf(&t->notes, " (%" PRIu64 " bytes)\n", m->sums.trimmable);
	if (m->huge)
		buf_addf(&t->notes, "%" PRIu64 " bytes of anonymous memory are in huge pages\n", m->huge);
	if (m->swapped)
		buf_addf(&t->notes, "%" PRIu64 " bytes are swapped out\n", m->swapped);
	if (m->unknown_stacks)
		buf_addf(&t->notes, "%u threads were running: their stacks count as other memory (--freeze stops them)\n",
			 m->unknown_stacks);
}

static int write_rss(struct taking *t, const struct malloc_rss *m, struct sink_out *out, struct err *err)
{
	struct memory_line lines[MEMORY_LINES];
	struct malloc_table table = { .facts = facts_of(t),
				      .memory = { lines, list_lines(m, lines), (double)m->all.resident, "Blocks", "blocks" } };
	struct glibc_sizes sizes;
	int rc = glibc_sizes_take(&t->reading.heap, &sizes);
	if (rc)
		return err_set(err, ENOMEM, "out of memory");
	rc = add_sizes(&sizes, &table) ? err_set(err, ENOMEM, "out of memory") : 0;
	size_t rows = table.rows_cnt;
	rc = rc ?: report_malloc(&table, &t->o->report, out, err);
	for (size_t i = 0; i < rows; i++)
		free(table.rows[i].name);
	free(table.rows);
	free(sizes.all);
	return rc;
}

static int join_and_write(struct taking *t, struct malloc_rss *m, struct sink_out *out, struct err *err)
{
	struct malloc_pins pins;
	if (malloc_pins_take(&t->reading.heap, &m->held, t->recorded->blocks, &pins))
		return err_set(err, ENOMEM, "out of memory");
	malloc_pins_facts(&pins, &t->facts);
	int rc = write_rss(t, m, out, err);
	rc = rc ?: malloc_pins_write(&pins, &m->held, t->recorded, &t->o->report, out, err);
	malloc_pins_free(&pins);
	return rc;
}

static int take_rss(struct taking *t, struct sink_out *out, struct err *err)
{
	struct malloc_rss m = { 0 };
	int rc = malloc_reading_take(&t->reading, &(struct malloc_how){ t->o->report.pid, MALLOC_READINGS, t->o->freeze },
				     malloc_rss_look, &m, err);
	if (!rc) {
		t->sums = m.sums;
		describe_rss(t, &m);
		describe(t);
		rc = t->recorded ? join_and_write(t, &m, out, err) : write_rss(t, &m, out, err);
		malloc_reading_free(&t->reading);
	}
	malloc_rss_free(&m);
	return rc;
}

int malloc_write(const struct census_options *o, const struct recorded_heap *recorded, struct sink_out *out, struct err *err)
{
	struct taking t = { .o = o, .recorded = recorded };
	int rc = o->heap ? take_rss(&t, out, err) : take_classes(&t, out, err);
	buf_free(&t.notes);
	buf_free(&t.facts);
	buf_free(&t.allocator);
	buf_free(&t.proof);
	return rc;
}
