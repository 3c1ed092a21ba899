/* SPDX-License-Identifier: Apache-2.0 */
/* mallocview/page_view: see page_view.h. */
#include "mallocview/page_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access/pages.h"
#include "allocators/allocators.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/vec.h"
#include "elf/elf.h"
#include "mallocview/malloc_rss.h"
#include "mallocview/page_pins.h"
#include "report/malloc_table.h"

#define LINES 7
#define FILES_MAX 8                  /* that are searched for it */
#define TAKEN "TCMalloc_SystemTaken" /* of system-alloc.h: a size_t */

struct viewing {
	const struct census_options *o;
	const struct recorded_heap *recorded; /* NULL: none */
	struct malloc_reading reading;        /* without a heap */
	struct malloc_rss rss;
	struct page_pins pins;
	struct buf notes, facts, allocator;
};

/* --- reading ---------------------------------------------------------------------------------------- */

static int look(struct viewing *v, struct err *err)
{
	struct malloc_reading *r = &v->reading;
	struct threads t = { 0 };
	uint32_t tgid = r->process.memory.tgid;
	int rc = v->o->freeze ? threads_freeze(&t, tgid, err) : threads_look(&t, tgid, err);
	uint64_t began = now_ns();
	rc = rc ?: malloc_rss_look(&v->rss, r, &t, err);
	r->took_ns = now_ns() - began;
	r->frozen_ns = threads_thaw(&t);
	threads_free(&t);
	return rc;
}

static int join(struct viewing *v, struct err *err)
{
	static struct pages pages; /* too large for a stack */
	const struct memory *m = &v->reading.process.memory;
	if (!v->recorded)
		return 0;
	pages_open(&pages, m->through ?: m->tgid);
	int rc = pages.fd < 0 ? pages.fd : page_pins_take(v->recorded->blocks, &pages, &v->pins);
	pages_close(&pages);
	return rc ? err_set(err, -rc, "process %u: which of its pages are in memory cannot be read: %s", m->tgid, strerror(-rc))
		  : 0;
}

/* --- what the allocator counts itself ------------------------------------------------------------- */

/* ctx: its address in the file, 0 until it is found. */
static int take_symbol(void *ctx, const struct elf_symbol *s)
{
	uint64_t *vaddr = ctx;
	if (s->defined && s->size == sizeof(uint64_t) && !strcmp(s->name, TAKEN))
		*vaddr = s->vaddr;
	return *vaddr != 0;
}

/* Where the variable of this file lies in the process; 0: it has none. */
static uint64_t find_in(const struct glibc_process *p, const struct space_region *r)
{
	uint64_t vaddr = 0, bias = 0;
	int fd = -1;
	struct elf *e = place_file(p->memory.tgid, r, &fd);
	if (!e)
		return 0;
	if (place_bias(e, &p->space, r->dev, r->ino, &bias))
		elf_each_symbol(e, take_symbol, &vaddr);
	elf_close(e);
	close(fd);
	return vaddr ? bias + vaddr : 0;
}

/* Its library, or the program, which may contain it. */
static uint64_t find(const struct glibc_process *p)
{
	uint64_t at = 0;
	for (size_t i = 0, tried = 0; i < p->space.regions_cnt && tried < FILES_MAX && !at; i++) {
		const struct space_region *r = &p->space.regions[i];
		bool may = r->exec && r->ino &&
			   (alloc_family_of_file(r->path) == ALLOC_TCMALLOC || !strcmp(r->path, p->place.exe));
		at = may ? find_in(p, r) : 0;
		tried += may;
	}
	return at;
}

/* mapped: bytes of anonymous memory, more than which it cannot have taken. */
static void tell_own_count(struct glibc_process *p, uint64_t mapped, struct buf *notes, struct buf *facts)
{
	uint64_t at = find(p), taken = 0;
	if (!at || memory_read(&p->memory, at, &taken, sizeof(taken))) {
		buf_adds(notes, "this allocator has no statistics that could be read from outside\n");
		return;
	}
	if (taken % PAGE_BYTES || taken > mapped) {
		buf_addf(notes,
			 "tcmalloc's own count of bytes (" TAKEN ") is not believed: %" PRIu64 ", and %" PRIu64 " are mapped\n",
			 taken, mapped);
		return;
	}
	buf_addf(notes, "tcmalloc has taken %" PRIu64 " bytes from the system, as it counts itself (" TAKEN ")\n", taken);
	buf_addf(facts, "\"own_taken\":%" PRIu64 ",", taken);
}

/* --- telling ---------------------------------------------------------------------------------------- */

static struct memory_line line_of(const char *key, const char *text, const struct glibc_sum *s)
{
	return (struct memory_line){ key, text, (double)s->resident, (double)s->bytes, (double)s->cnt };
}

static size_t list_lines(const struct malloc_rss *m, struct memory_line *out)
{
	const struct memory_line lines[LINES] = {
		line_of("rss", "resident memory of the process (RSS)", &m->all),
		line_of("anonymous", "  anonymous memory: the allocator's, and all that the program maps", &m->anonymous),
		{ "huge", "    of it in huge pages", (double)m->huge, 0, 0 },
		line_of("stacks", "  stacks", &m->stacks),
		{ "written", "  data of programs and libraries: private copies", (double)m->written, 0, 0 },
		line_of("files", "  files: code and constants", &m->files),
		line_of("shared", "  shared memory", &m->shared),
	};
	memcpy(out, lines, sizeof(lines));
	return LINES;
}

static int list_mappings(const struct viewing *v, struct mapping_table *out)
{
	for (size_t i = 0; i < v->rss.mappings_cnt; i++) {
		const struct memory_mapping *from = &v->rss.mappings[i];
		struct mapping_row *row = VEC_PUSH(out, rows);
		uint64_t bytes;
		if (!row)
			return -ENOMEM;
		*row = (struct mapping_row){ .resident = (double)from->resident,
					     .mapped = (double)(from->end - from->start),
					     .huge = (double)from->huge };
		row->blocks = (double)page_pins_within(&v->pins, from->start, from->end, &bytes);
		row->block_bytes = (double)bytes;
		snprintf(row->name, sizeof(row->name), "0x%" PRIx64 "-0x%" PRIx64 "%s", from->start, from->end,
			 from->brk ? " [heap]" : "");
	}
	return 0;
}

static void describe(struct viewing *v, const char *why)
{
	struct malloc_reading *r = &v->reading;
	const struct malloc_rss *m = &v->rss;
	glibc_other_allocators(&r->process.space, &v->allocator);
	if (!v->allocator.len)
		buf_adds(&v->allocator, "unknown");
	buf_addf(&v->facts, "\"frozen_ms\":%.3f,\"swapped\":%" PRIu64 ",\"mapped\":%" PRIu64 ",", (double)r->frozen_ns / 1e6,
		 m->swapped, m->anonymous.bytes);
	buf_addf(&v->notes, "%s; this is by pages, without the blocks of its allocator (%s)\n", why, buf_str(&v->allocator));
	tell_own_count(&r->process, m->anonymous.bytes, &v->notes, &v->facts);
	if (m->swapped)
		buf_addf(&v->notes, "%" PRIu64 " bytes are swapped out\n", m->swapped);
	if (m->unknown_stacks)
		buf_addf(&v->notes, "%u threads were running: their stacks count as anonymous memory\n", m->unknown_stacks);
	if (!v->recorded)
		buf_adds(&v->notes, "-d SECONDS records the program first and tells whose blocks keep its pages\n");
	else
		page_pins_facts(&v->pins, &v->facts);
}

static int write_view(struct viewing *v, struct sink_out *out, struct err *err)
{
	struct memory_line lines[LINES];
	const struct malloc_rss *m = &v->rss;
	struct mapping_table table = {
		.facts = { .tgid = v->reading.process.memory.tgid,
			   .allocator = buf_str(&v->allocator),
			   .more = buf_str(&v->facts),
			   .command = v->reading.process.place.comm,
			   .collector = "",
			   .layout = "not read",
			   .took_ms = (double)v->reading.took_ns / 1e6,
			   .notes = buf_str(&v->notes) },
		.memory = { lines, list_lines(m, lines), (double)m->all.resident, "Mappings", "mappings" },
		.recorded = v->recorded != NULL,
	};
	int rc = list_mappings(v, &table) ? err_set(err, ENOMEM, "out of memory") : 0;
	rc = rc ?: report_mappings(&table, &v->o->report, out, err);
	if (!rc && v->recorded)
		rc = page_pins_write(&v->pins, v->recorded, &v->o->report, out, err);
	free(table.rows);
	return rc;
}

int page_view_write(const struct census_options *o, const struct recorded_heap *recorded, const char *why, struct sink_out *out,
		    struct err *err)
{
	struct viewing v = { .o = o, .recorded = recorded };
	struct glibc_process *p = &v.reading.process;
	*p = (struct glibc_process){ .memory = { .tgid = (uint32_t)o->report.pid }, .fd = -1 };
	int rc = place_begin(&p->memory, &p->space, &p->place, err);
	rc = rc ?: look(&v, err);
	rc = rc ?: join(&v, err);
	if (!rc) {
		describe(&v, why);
		rc = write_view(&v, out, err);
	}
	page_pins_free(&v.pins);
	malloc_rss_free(&v.rss);
	malloc_reading_free(&v.reading);
	buf_free(&v.notes);
	buf_free(&v.facts);
	buf_free(&v.allocator);
	return rc;
}
