/* SPDX-License-Identifier: Apache-2.0 */
/* mallocview/malloc_rss: see malloc_rss.h. */
#include "mallocview/malloc_rss.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "access/rights.h"
#include "access/smaps.h"
#include "base/vec.h"

struct look {
	struct malloc_rss *out;
	const struct glibc_heap *heap;
	const struct threads *threads;
	struct pages *pages;
	uint64_t in_stacks; /* chunks in mappings of stacks */
};

static bool is_stack(const struct look *l, const struct smaps_part *p)
{
	if (!strcmp(p->path, "[stack]"))
		return true;
	for (size_t i = 0; !p->ino && i < l->threads->list_cnt; i++) {
		uint64_t sp = l->threads->list[i].sp;
		if (sp >= p->start && sp < p->end)
			return true;
	}
	return false;
}

static uint64_t common(const struct look *l, const struct smaps_part *p, uint64_t start, uint64_t end)
{
	start = start > p->start ? start : p->start;
	end = end < p->end ? end : p->end;
	return start < end ? pages_resident(l->pages, start, end) : 0;
}

/* A stack's mapping may go on with chunks of malloc. */
static uint64_t chunks_inside(const struct look *l, const struct smaps_part *p)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < l->heap->pieces_cnt; i++)
		sum += common(l, p, l->heap->pieces[i].start, l->heap->pieces[i].end);
	for (size_t i = 0; i < l->heap->mapped_cnt; i++)
		sum += common(l, p, l->heap->mapped[i].start, l->heap->mapped[i].chunk.addr + l->heap->mapped[i].chunk.size);
	return sum;
}

/* Code and data that the kernel maps into every process: [vdso], [vvar], [vsyscall]. */
static bool is_kernels(const struct smaps_part *p)
{
	return !strncmp(p->path, "[v", 2);
}

static void add(struct glibc_sum *to, const struct smaps_part *p, uint64_t resident)
{
	to->cnt++;
	to->bytes += p->end - p->start;
	to->resident += resident;
}

static int list_mapping(struct malloc_rss *out, const struct smaps_part *p)
{
	struct memory_mapping *m = VEC_PUSH(out, mappings);
	if (!m)
		return -ENOMEM;
	*m = (struct memory_mapping){ p->start, p->end, p->resident, p->huge, !strcmp(p->path, "[heap]") };
	out->huge += p->huge;
	return 0;
}

static int take_part(void *ctx, const struct smaps_part *p)
{
	struct look *l = ctx;
	struct malloc_rss *out = l->out;
	add(&out->all, p, p->resident);
	out->swapped += p->swapped;
	if (p->shared) {
		add(&out->shared, p, p->resident);
	} else if (p->ino || is_kernels(p)) {
		uint64_t written = p->anonymous < p->resident ? p->anonymous : p->resident;
		out->written += written;
		add(&out->files, p, p->resident - written);
	} else if (is_stack(l, p)) {
		uint64_t inside = chunks_inside(l, p);
		l->in_stacks += inside;
		add(&out->stacks, p, p->resident - (inside < p->resident ? inside : p->resident));
	} else {
		add(&out->anonymous, p, p->resident);
		return list_mapping(out, p);
	}
	return 0;
}

static uint64_t resident_chunks(const struct glibc_sums *s)
{
	uint64_t sum = s->mapped.resident;
	for (int i = 0; i < CHUNK_STATES; i++)
		sum += s->of[i].resident;
	return sum;
}

void malloc_rss_free(struct malloc_rss *m)
{
	held_pages_free(&m->held);
	free(m->mappings);
	*m = (struct malloc_rss){ 0 };
}

int malloc_rss_look(void *ctx, struct malloc_reading *r, const struct threads *t, struct err *err)
{
	static struct pages pages; /* too large for a stack */
	const struct memory *m = &r->process.memory;
	struct malloc_rss *out = ctx;
	struct look l = { out, &r->heap, t, &pages, 0 };
	malloc_rss_free(out);
	pages_open(&pages, m->through ?: m->tgid);
	int fd = rights_fact(m->through ?: m->tgid, FACT_SMAPS);
	int rc = pages.fd < 0 ? pages.fd : fd < 0 ? fd : 0;
	if (!rc)
		glibc_sums_take(&r->heap, ALL_ARENAS, &pages, &out->sums);
	if (fd >= 0)
		rc = smaps_each(fd, take_part, &l) ?: rc;
	uint64_t elsewhere = resident_chunks(&out->sums) - l.in_stacks;
	if (!rc && elsewhere > out->anonymous.resident) {
		pages.own = true;
		glibc_sums_take(&r->heap, ALL_ARENAS, &pages, &out->sums);
		elsewhere = resident_chunks(&out->sums);
	}
	rc = rc ?: held_pages_take(&r->heap, &pages, &out->held);
	pages_close(&pages);
	out->anonymous.resident -= elsewhere < out->anonymous.resident ? elsewhere : out->anonymous.resident;
	for (size_t i = 0; i < t->list_cnt; i++)
		out->unknown_stacks += !t->list[i].sp;
	return rc ? err_set(err, -rc, "process %u (%s): which of its pages are in memory cannot be read: %s", m->tgid,
			    r->process.place.comm, strerror(-rc))
		  : 0;
}
