/* SPDX-License-Identifier: Apache-2.0 */
/* boehm/detection: see detection.h. */
#include "boehm/detection.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boehm/block_header.h"
#include "boehm/getter.h"
#include "boehm/scan.h"

#define SCANNED_MAX (1ull << 30) /* writable memory searched, in bytes */
#define ATTEMPTS 5               /* a heap in use may change during a check */
#define AGREE(n, of) ((n)*100 >= (of)*95 && (n))

struct names {
	uint64_t arrays, arrays_sz;         /* GC_arrays */
	uint64_t gc_no;                     /* GC_gc_no */
	uint64_t get_gc_no, is_incremental; /* functions that reveal where GC_gc_no is */
};

struct finding {
	struct memory *m;
	const struct space *space;
	const struct elf *elf;
	uint64_t bias;
	struct names names;
	struct layout *out;
};

static int take_symbol(void *ctx, const struct elf_symbol *s)
{
	struct names *n = ctx;
	if (!s->defined || strncmp(s->name, "GC_", 3))
		return 0;
	if (!strcmp(s->name, "GC_arrays")) {
		n->arrays = s->vaddr;
		n->arrays_sz = s->size;
	} else if (!strcmp(s->name, "GC_gc_no")) {
		n->gc_no = s->vaddr;
	} else if (!strcmp(s->name, "GC_get_gc_no")) {
		n->get_gc_no = s->vaddr;
	} else if (!strcmp(s->name, "GC_is_incremental_mode")) {
		n->is_incremental = s->vaddr;
	}
	return 0;
}

/* --- variables returned by small functions ------------------------------------------------------ */

/* The address of the variable in the process; 0: not found. */
static uint64_t variable_of(const struct finding *f, uint64_t function)
{
	const uint8_t *code = function ? elf_bytes(f->elf, function, GETTER_SZ) : NULL;
	struct getter g = code ? getter_in(code, f->bias + function) : (struct getter){ 0 };
	if (g.from_table && memory_read(f->m, g.addr, &g.addr, sizeof(g.addr)))
		return 0;
	return g.addr;
}

static void find_variables(struct finding *f)
{
	struct layout *l = f->out;
	uint32_t on = 0;
	uint64_t flag = variable_of(f, f->names.is_incremental);
	if (flag && !memory_read(f->m, flag, &on, sizeof(on)))
		l->incremental = on != 0;
	l->gc_no = f->names.gc_no ? f->names.gc_no + f->bias : variable_of(f, f->names.get_gc_no);
}

/* --- checking headers --------------------------------------------------------------------------- */

struct sample {
	struct index_entry *entries;
	size_t cnt;
	uint8_t *raw; /* HEADER_SZ_MAX bytes each */
};

/* Blocks at even intervals over the heap. */
static int take_sample(struct finding *f, struct sample *s, struct err *err)
{
	struct block_index x;
	int rc = index_read(f->m, f->out->top_index, f->out->all_nils, &x);
	if (rc)
		return err_set(err, -rc, "its block index cannot be read: %s", strerror(-rc));
	size_t step = x.entries_cnt / HEADER_CHUNK + 1;
	s->entries = x.entries;
	for (size_t i = 0; i < x.entries_cnt; i += step)
		s->entries[s->cnt++] = x.entries[i];
	s->raw = malloc(s->cnt * HEADER_SZ_MAX + 1);
	if (!s->raw)
		return err_set(err, ENOMEM, "out of memory");
	rc = headers_read(f->m, s->entries, s->cnt, HEADER_SZ_MAX, s->raw);
	return rc ? err_set(err, -rc, "its block headers cannot be read: %s", strerror(-rc)) : 0;
}

static void free_sample(struct sample *s)
{
	free(s->entries);
	free(s->raw);
	*s = (struct sample){ 0 };
}

/* A mark byte is 0 or 1; no bit is set behind the last mark. */
static bool marks_look_right(const struct header *h, const struct layout *l)
{
	const uint8_t *marks = h->raw + l->marks_off;
	if (l->marks == LAYOUT_MARK_BYTES || l->marks == LAYOUT_MARK_OBJECTS) {
		size_t last = l->marks == LAYOUT_MARK_OBJECTS ? h->objects : GRANULES_OF_BLOCK;
		for (size_t i = 0; i <= last; i++) {
			if (marks[i] > 1)
				return false;
		}
	}
	return header_has_sentinel(h, l);
}

/* The counter is approximate: at most one above the number of objects, and 0 if and only if no mark is set. */
static bool count_looks_right(const struct header *h, const struct layout *l)
{
	uint8_t marks[GRANULES_OF_BLOCK];
	uint32_t set = header_marks(h, l, marks);
	return h->n_marks <= h->objects + 1 && (h->n_marks != 0) == (set != 0);
}

struct score {
	uint32_t used, free, strange; /* numbers of headers */
	uint32_t marked_right, counted_right;
};

static struct score score_of(const struct sample *s, const struct layout *l)
{
	struct score n = { 0 };
	for (size_t i = 0; i < s->cnt; i++) {
		struct header h;
		if (!header_parse(s->raw + i * HEADER_SZ_MAX, &s->entries[i], l, &h)) {
			n.strange++;
		} else if (header_is_free(&h)) {
			n.free++;
		} else {
			n.used++;
			n.marked_right += marks_look_right(&h, l);
			n.counted_right += count_looks_right(&h, l);
		}
	}
	return n;
}

static const struct variant {
	uint32_t n_marks_off, marks_off;
	enum layout_marks marks;
} variants[] = {
	{ 0x38, 0x40, LAYOUT_MARK_BYTES },
	{ 0x38, 0x40, LAYOUT_MARK_BITS },
	{ 0x30, 0x38, LAYOUT_MARK_OBJECTS },
	{ 0x30, 0x38, LAYOUT_MARK_OBJECT_BITS },
};

static void use_variant(struct layout *l, const struct variant *v)
{
	l->n_marks_off = v->n_marks_off;
	l->marks_off = v->marks_off;
	l->marks = v->marks;
}

static bool choose_variant(const struct sample *s, struct layout *l)
{
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		use_variant(l, &variants[i]);
		struct score n = score_of(s, l);
		if (AGREE(n.marked_right, n.used) && AGREE(n.counted_right, n.used)) {
			l->checked = n.used + n.free;
			return true;
		}
	}
	return false;
}

static int judge(struct finding *f, const struct sample *s, struct err *err)
{
	use_variant(f->out, &variants[0]);
	struct score n = score_of(s, f->out);
	if (!n.used && !n.free && !n.strange)
		return err_set(err, ENODATA, "its collector has no blocks yet");
	if (!AGREE(n.used + n.free, n.used + n.free + n.strange))
		return err_set(err, ENOTSUP, "%u of %u block headers are not laid out as known", n.strange,
			       n.used + n.free + n.strange);
	if (!n.used)
		return err_set(err, ENODATA, "its collector has no objects yet");
	if (!choose_variant(s, f->out))
		return err_set(err, ENOTSUP, "the marks in its %u block headers are not where any known build has them", n.used);
	return 0;
}

/* Headers hold the number of a cycle, which must not be later than the counter. */
static void check_gc_no(struct finding *f, const struct sample *s)
{
	uint64_t now;
	uint32_t later = 0, named = 0;
	if (!f->out->gc_no || memory_read(f->m, f->out->gc_no, &now, sizeof(now)))
		f->out->gc_no = 0;
	for (size_t i = 0; f->out->gc_no && i < s->cnt; i++) {
		struct header h;
		if (!header_parse(s->raw + i * HEADER_SZ_MAX, &s->entries[i], NULL, &h) || header_is_free(&h))
			continue;
		named++;
		later += (uint16_t)((uint16_t)now - h.last_reclaimed) >= 0x8000;
	}
	if (named && AGREE(later, named))
		f->out->gc_no = 0;
}

static int validate(struct finding *f, struct err *err)
{
	int rc = -ENOTSUP;
	for (int i = 0; i < ATTEMPTS && rc == -ENOTSUP; i++) {
		struct sample s = { 0 };
		rc = take_sample(f, &s, err);
		if (!rc)
			rc = judge(f, &s, err);
		if (!rc)
			check_gc_no(f, &s);
		free_sample(&s);
	}
	return rc;
}

/* --- candidates --------------------------------------------------------------------------------- */

static void take_hit(struct finding *f, const struct scan_hit *hit, enum layout_found found)
{
	f->out->top_index = hit->top_index;
	f->out->all_nils = hit->all_nils;
	f->out->mark_stack = hit->mark_stack;
	f->out->mark_state = hit->mark_state;
	f->out->found = found;
}

/*
 * The index is the last member of GC_arrays in all known builds. Needed if no slot is empty, in heaps of more than 8
 * GiB.
 */
static int try_end_of_arrays(struct finding *f, uint64_t start, struct err *err)
{
	struct scan_hit hit = { .top_index = start + f->names.arrays_sz - INDEX_TOP * 8 };
	if (f->names.arrays_sz < INDEX_TOP * 8)
		return err_set(err, ENOTSUP, "GC_arrays is smaller than a block index");
	take_hit(f, &hit, LAYOUT_BY_SYMBOL);
	int rc = validate(f, err);
	return rc == -ENODATA ? err_set(err, ENOTSUP, "no block index of a known layout is in its GC_arrays") : rc;
}

static int find_by_symbol(struct finding *f, struct err *err)
{
	uint64_t start = f->names.arrays + f->bias, first = 0;
	struct scan_hit hit;
	if (!f->names.arrays || f->names.arrays_sz > SCANNED_MAX)
		return -ENOENT;
	int rc = scan_range(f->m, f->space, start, start + f->names.arrays_sz, &hit);
	if (!rc) {
		take_hit(f, &hit, LAYOUT_BY_SYMBOL);
		return validate(f, err);
	}
	if (rc != -ENOENT)
		return err_set(err, -rc, "its memory cannot be read: %s", strerror(-rc));
	return memory_read(f->m, start + f->names.arrays_sz - 8, &first, sizeof(first)) || !first
		       ? err_set(err, ENODATA, "its collector has not started yet")
		       : try_end_of_arrays(f, start, err);
}

static int find_by_scan(struct finding *f, struct err *err)
{
	const struct elf_segment *segments;
	uint64_t left = SCANNED_MAX;
	size_t n = elf_segments(f->elf, &segments);
	int rc = -ENOENT;
	for (size_t i = 0; i < n && rc == -ENOENT; i++) {
		uint64_t start = segments[i].vaddr + f->bias, size = segments[i].memsz;
		struct scan_hit hit;
		if (segments[i].exec || size > left || start + size < start)
			continue;
		left -= size;
		rc = scan_range(f->m, f->space, start, start + size, &hit);
		if (!rc) {
			take_hit(f, &hit, LAYOUT_BY_SCAN);
			rc = validate(f, err);
		}
	}
	if (rc == -ENOENT)
		return err_set(err, ENOTSUP, "no block index was recognized in its memory");
	return rc == -ESRCH || rc == -EPERM ? err_set(err, -rc, "its memory cannot be read: %s", strerror(-rc)) : rc;
}

int layout_find(struct memory *m, const struct detection_place *at, struct layout *out, struct err *err)
{
	struct finding f = { .m = m, .space = at->space, .elf = at->elf, .bias = at->bias, .out = out };
	*out = (struct layout){ 0 };
	snprintf(out->file, sizeof(out->file), "%s", at->file);
	elf_each_symbol(at->elf, take_symbol, &f.names);
	find_variables(&f);
	int rc = find_by_symbol(&f, err);
	return rc == -ENOENT ? find_by_scan(&f, err) : rc;
}
