/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/tables: see tables.h; the layout is in bpf/rows.h. */
#include "kernel/tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "kernel/chunks.h"

/* A part of a file's pages, in one chunk. Together the pieces of a file cover all its pages. */
struct piece {
	struct extent at;
	uint32_t page0, pages; /* address in the file >> ALYS_PAGE_SHIFT */
};

struct file {
	uint64_t key;
	struct piece *pieces; /* none: the file is known to have no rows */
	size_t pieces_cnt, pieces_cap;
	size_t users;     /* references from processes' lists */
	uint64_t idle_ns; /* since when there are no users */
};

/* A process' part of the mappings array. */
struct run {
	uint32_t tgid, first, n;
	uint64_t *files; /* keys of its files */
	size_t files_cnt, files_cap;
};

struct tables {
	struct table_maps maps;
	struct chunks chunks;
	struct file *files;
	size_t files_cnt, files_cap;
	struct map file_of; /* key -> index of files */
	struct alys_spec *specs;
	size_t specs_cnt, specs_cap;
	struct alys_mapping *mappings; /* the map itself */
	struct run *runs;
	size_t runs_cnt, runs_cap;
	uint32_t next; /* where the search for room in mappings begins */
	uint64_t salt;
	struct unwind_counts rows;
};

/*
 * Rows in no list any more may still be read, by a walk that began before or by a forked child until its own list is
 * made. Both take much less than this.
 */
#define KEEP_NS 10000000000ull
/* A file is split to fill a hole only if the piece has at least this many words. */
#define PIECE_MIN (ALYS_CHUNK_WORDS / 16)

static size_t mappings_sz(const struct tables *t)
{
	return t->maps.mappings_max * sizeof(struct alys_mapping);
}

struct tables *tables_new(const struct table_maps *maps, struct err *err)
{
	struct tables *t = calloc(1, sizeof(*t));
	if (!t) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	t->maps = *maps;
	t->maps.keep_ns = maps->keep_ns ?: KEEP_NS;
	t->maps.mappings_max = maps->mappings_max ?: ALYS_MAX_MAPPINGS;
	t->chunks.max = maps->chunks_max ?: ALYS_MAX_CHUNKS;
	t->chunks.outer = maps->chunks;
	t->mappings = mmap(NULL, mappings_sz(t), PROT_READ | PROT_WRITE, MAP_SHARED, maps->mappings, 0);
	if (t->mappings == MAP_FAILED) {
		err_set(err, errno, "cannot map the list of mappings: %s", strerror(errno));
		free(t);
		return NULL;
	}
	if (getrandom(&t->salt, sizeof(t->salt), 0) != (ssize_t)sizeof(t->salt))
		t->salt = (uint64_t)getpid();
	return t;
}

void tables_free(struct tables *t)
{
	if (!t)
		return;
	chunks_free(&t->chunks);
	munmap(t->mappings, mappings_sz(t));
	for (size_t i = 0; i < t->files_cnt; i++)
		free(t->files[i].pieces);
	for (size_t i = 0; i < t->runs_cnt; i++)
		free(t->runs[i].files);
	free(t->files);
	free(t->specs);
	free(t->runs);
	map_free(&t->file_of);
	free(t);
}

/* Each file numbers its own specs; the walk has one list for all files. */
static uint32_t share_spec(struct tables *t, const struct alys_spec *spec)
{
	const uint32_t full = ALYS_ROW_SPECIAL_OF(ALYS_ROW_UNSUPPORTED, ALYS_ROW_WHY_FULL);
	for (size_t i = 0; i < t->specs_cnt; i++) {
		if (!memcmp(&t->specs[i], spec, sizeof(*spec)))
			return ALYS_ROW_SPECIAL_OF(ALYS_ROW_SPEC, i);
	}
	uint32_t index = (uint32_t)t->specs_cnt;
	if (index == ALYS_MAX_SPECS || bpf_map_update_elem(t->maps.specs, &index, spec, BPF_ANY))
		return full;
	struct alys_spec *slot = VEC_PUSH(t, specs);
	if (!slot)
		return full;
	*slot = *spec;
	return ALYS_ROW_SPECIAL_OF(ALYS_ROW_SPEC, index);
}

static uint32_t *share_specs(struct tables *t, const struct unwind_table *u)
{
	uint32_t *shared = calloc(u->specs_cnt + 1, sizeof(*shared));
	for (size_t i = 0; shared && i < u->specs_cnt; i++)
		shared[i] = share_spec(t, &u->specs[i]);
	return shared;
}

static uint32_t published_row(uint32_t row, const uint32_t *shared)
{
	const uint32_t spec = ALYS_ROW_SPECIAL_OF(ALYS_ROW_SPEC, 0);
	if ((row & (ALYS_ROW_SPECIAL | ALYS_ROW_KIND)) != spec)
		return row;
	return (row & ~ALYS_ROW_INFO) | shared[(row & ALYS_ROW_INFO & ~ALYS_ROW_SPECIAL) >> ALYS_ROW_AUX_SHIFT];
}

/* Words for n pages from `page` on, with their index. */
static size_t words_of(const struct unwind_table *u, size_t page, size_t n)
{
	return n + 1 + u->pages[page + n] - u->pages[page];
}

/* How many pages from `page` on fit into `room` words. */
static size_t pages_that_fit(const struct unwind_table *u, size_t page, size_t room)
{
	size_t lo = 0, hi = u->pages_cnt - page;
	while (lo < hi) {
		size_t mid = (lo + hi + 1) / 2;
		if (words_of(u, page, mid) <= room)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

static void copy_piece(uint32_t *out, const struct unwind_table *u, size_t page, size_t pages, const uint32_t *shared)
{
	uint32_t from = u->pages[page], to = u->pages[page + pages];
	for (size_t i = 0; i <= pages; i++)
		*out++ = (uint32_t)pages + 1 + u->pages[page + i] - from;
	for (uint32_t i = from; i < to; i++)
		*out++ = published_row(u->rows[i], shared);
}

static void give_back(struct tables *t, struct file *f)
{
	for (size_t i = 0; i < f->pieces_cnt; i++)
		chunks_give(&t->chunks, f->pieces[i].at);
	free(f->pieces);
}

static struct file *file_of(const struct tables *t, uint64_t key)
{
	const uint64_t *index = key ? map_get(&t->file_of, key) : NULL;
	return index ? &t->files[*index] : NULL;
}

static void forget(struct tables *t, struct file *f)
{
	size_t index = (size_t)(f - t->files);
	give_back(t, f);
	map_del(&t->file_of, f->key);
	*f = t->files[--t->files_cnt];
	if (index < t->files_cnt)
		*map_get(&t->file_of, f->key) = index;
}

/* Drops the rows of the file that has been unused for the longest time, or adds a chunk. */
static int make_room(struct tables *t)
{
	uint64_t now = now_ns();
	struct file *oldest = NULL;
	for (size_t i = 0; i < t->files_cnt; i++) {
		struct file *f = &t->files[i];
		if (!f->users && f->pieces_cnt && now - f->idle_ns >= t->maps.keep_ns &&
		    (!oldest || f->idle_ns < oldest->idle_ns))
			oldest = f;
	}
	if (!oldest)
		return chunks_grow(&t->chunks);
	forget(t, oldest);
	return 0;
}

static int put_piece(struct tables *t, struct file *f, const struct unwind_table *u, size_t page, const uint32_t *shared)
{
	size_t left = u->pages_cnt - page, all = words_of(u, page, left);
	const struct extent *room = chunks_room(&t->chunks, all);
	size_t n = room && (room->n >= all || room->n >= PIECE_MIN) ? pages_that_fit(u, page, room->n) : 0;
	if (!n)
		return make_room(t); /* a page has at most 4096 rows, so a new chunk takes one */
	struct piece *p = VEC_PUSH(f, pieces);
	if (!p)
		return -ENOMEM;
	*p = (struct piece){
		.at = chunks_take(&t->chunks, room, (uint32_t)words_of(u, page, n)),
		.page0 = (uint32_t)(u->page0 + page),
		.pages = (uint32_t)n,
	};
	copy_piece(chunks_words(&t->chunks, &p->at), u, page, n, shared);
	return 0;
}

static int put_pieces(struct tables *t, struct file *f, const struct unwind_table *u)
{
	uint32_t *shared = share_specs(t, u);
	int rc = shared ? 0 : -ENOMEM;
	for (size_t page = 0; page < u->pages_cnt && !rc;) {
		size_t had = f->pieces_cnt;
		rc = put_piece(t, f, u, page, shared);
		page += f->pieces_cnt > had ? f->pieces[had].pages : 0;
	}
	free(shared);
	return rc;
}

bool tables_has(const struct tables *t, uint64_t file)
{
	return file_of(t, file) != NULL;
}

static void add_counts(struct unwind_counts *sum, const struct unwind_counts *c)
{
	sum->fdes += c->fdes;
	sum->outside += c->outside;
	sum->plain += c->plain;
	sum->spec += c->spec;
	sum->none += c->none;
	sum->end += c->end;
	sum->plt += c->plt;
	sum->signal += c->signal;
	for (size_t i = 0; i < ALYS_ROW_WHY_CNT; i++)
		sum->unsupported[i] += c->unsupported[i];
}

static int add_file(struct tables *t, const struct file *f)
{
	struct file *slot = VEC_PUSH(t, files);
	uint64_t *index = slot ? map_put(&t->file_of, f->key) : NULL;
	if (!index) {
		t->files_cnt -= slot != NULL;
		return -ENOMEM;
	}
	*slot = *f;
	*index = t->files_cnt - 1;
	return 0;
}

int tables_put(struct tables *t, uint64_t file, const struct unwind_table *rows, struct err *err)
{
	struct file f = { .key = file, .idle_ns = now_ns() };
	if (tables_has(t, file))
		return err_set(err, EEXIST, "the file's unwind rows are already published");
	if (rows && rows->page0 + rows->pages_cnt > UINT32_MAX)
		return err_set(err, ERANGE, "code at addresses that unwind rows cannot name");
	int rc = rows ? put_pieces(t, &f, rows) : 0;
	if (!rc)
		rc = add_file(t, &f);
	if (rc) {
		give_back(t, &f);
		return err_set(err, -rc, "cannot publish unwind rows: %s", strerror(-rc));
	}
	if (rows)
		add_counts(&t->rows, &rows->counts);
	return 0;
}

/*
 * A file of several pieces takes as many mappings, cut where a piece begins; what lies before the first and after the
 * last piece goes with these.
 */
static size_t split(const struct tables *t, const struct table_mapping *m, struct alys_mapping *out)
{
	const struct file *f = file_of(t, m->file);
	struct alys_mapping whole = { .start = m->start, .end = m->end, .bias = m->bias };
	size_t n = 0;
	if (!f || !f->pieces_cnt) {
		*out = whole;
		return 1;
	}
	for (size_t i = 0; i < f->pieces_cnt; i++) {
		const struct piece *p = &f->pieces[i];
		uint64_t lo = ((uint64_t)p->page0 << ALYS_PAGE_SHIFT) + m->bias;
		uint64_t hi = ((uint64_t)(p->page0 + p->pages) << ALYS_PAGE_SHIFT) + m->bias;
		struct alys_mapping part = whole;
		if (i && lo > part.start)
			part.start = lo;
		if (i + 1 < f->pieces_cnt && hi < part.end)
			part.end = hi;
		if (part.start >= part.end)
			continue;
		part.chunk = p->at.chunk;
		part.page_off = p->at.off;
		part.page0 = p->page0;
		part.pages = p->pages;
		out[n++] = part;
	}
	return n;
}

static int by_start(const void *a, const void *b)
{
	const struct alys_mapping *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static size_t pieces_of(const struct tables *t, uint64_t file)
{
	const struct file *f = file_of(t, file);
	return f && f->pieces_cnt ? f->pieces_cnt : 1;
}

/*
 * Next fit: free room is reused as late as possible, so that a walk that still uses an old list (or a forked child its
 * parent's) finds it unchanged.
 */
static bool find_room(const struct tables *t, uint32_t n, uint32_t *first)
{
	uint32_t at = t->next;
	bool wrapped = false;
	for (;;) {
		const struct run *in_way = NULL;
		if (at > t->maps.mappings_max - n) {
			if (wrapped)
				return false;
			wrapped = true;
			at = 0;
		}
		for (size_t i = 0; i < t->runs_cnt && !in_way; i++) {
			const struct run *r = &t->runs[i];
			if (r->first < at + n && at < r->first + r->n)
				in_way = r;
		}
		if (!in_way) {
			*first = at;
			return true;
		}
		at = in_way->first + in_way->n;
	}
}

static struct run *run_of(const struct tables *t, uint32_t tgid)
{
	for (size_t i = 0; i < t->runs_cnt; i++) {
		if (t->runs[i].tgid == tgid)
			return &t->runs[i];
	}
	return NULL;
}

/* Takes references to a new list's files; called before those of the old list are released. */
static int hold_files(struct tables *t, struct run *r, const struct table_mapping *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct file *f = file_of(t, list[i].file);
		uint64_t *key = f ? VEC_PUSH(r, files) : NULL;
		if (f && !key)
			return -ENOMEM;
		if (!f)
			continue;
		*key = f->key;
		f->users++;
	}
	return 0;
}

static void release_files(struct tables *t, struct run *r)
{
	uint64_t now = now_ns();
	for (size_t i = 0; i < r->files_cnt; i++) {
		struct file *f = file_of(t, r->files[i]);
		if (--f->users == 0)
			f->idle_ns = now;
	}
	free(r->files);
}

/* Makes walks look up their lists again. */
static void announce_change(struct tables *t)
{
	if (t->maps.changes)
		__atomic_fetch_add(t->maps.changes, 1, __ATOMIC_RELEASE);
}

static int publish(struct tables *t, const struct alys_mapping *all, struct run *r)
{
	struct alys_map_list list = { .n = r->n, .salt = t->salt += 0x9e3779b97f4a7c15ull };
	struct run *old = run_of(t, r->tgid);
	if (r->n > t->maps.mappings_max || !find_room(t, r->n, &list.first))
		return -ENOSPC;
	if (!old && !(old = VEC_PUSH(t, runs)))
		return -ENOMEM;
	old->tgid = r->tgid;
	memcpy(t->mappings + list.first, all, r->n * sizeof(*all));
	if (bpf_map_update_elem(t->maps.map_lists, &r->tgid, &list, BPF_ANY))
		return -errno;
	announce_change(t);
	r->first = list.first;
	release_files(t, old);
	*old = *r;
	t->next = list.first + r->n;
	return 0;
}

static int put_list(struct tables *t, uint32_t tgid, const struct table_mapping *list, size_t n, struct alys_mapping *all)
{
	struct run r = { .tgid = tgid };
	for (size_t i = 0; i < n; i++)
		r.n += (uint32_t)split(t, &list[i], all + r.n);
	qsort(all, r.n, sizeof(*all), by_start);
	int rc = hold_files(t, &r, list, n);
	if (!rc)
		rc = publish(t, all, &r);
	if (rc)
		release_files(t, &r);
	return rc;
}

int tables_put_mappings(struct tables *t, uint32_t tgid, const struct table_mapping *list, size_t n, struct err *err)
{
	size_t parts = 0;
	for (size_t i = 0; i < n; i++)
		parts += pieces_of(t, list[i].file);
	struct alys_mapping *all = parts <= t->maps.mappings_max ? calloc(parts + 1, sizeof(*all)) : NULL;
	int rc = all ? put_list(t, tgid, list, n, all) : parts <= t->maps.mappings_max ? -ENOMEM : -ENOSPC;
	free(all);
	if (rc)
		return err_set(err, -rc, "cannot publish the mappings of process %u: %s", tgid, strerror(-rc));
	return 0;
}

void tables_drop_mappings(struct tables *t, uint32_t tgid)
{
	struct run *r = run_of(t, tgid);
	bpf_map_delete_elem(t->maps.map_lists, &tgid);
	announce_change(t);
	if (!r)
		return;
	release_files(t, r);
	*r = t->runs[--t->runs_cnt];
}

struct tables_counts tables_counts(const struct tables *t)
{
	struct tables_counts c = {
		.files = t->files_cnt,
		.chunks = t->chunks.at_cnt,
		.specs = t->specs_cnt,
		.processes = t->runs_cnt,
		.rows = t->rows,
	};
	for (size_t i = 0; i < t->files_cnt; i++) {
		for (size_t k = 0; k < t->files[i].pieces_cnt; k++)
			c.bytes += t->files[i].pieces[k].at.n * sizeof(uint32_t);
	}
	for (size_t i = 0; i < t->runs_cnt; i++)
		c.mappings += t->runs[i].n;
	return c;
}
