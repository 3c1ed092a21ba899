/* probe/tables: see tables.h; the layout is in bpf/rows.h. */
#include "probe/tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/map.h"
#include "base/vec.h"

/* A part of a file's pages, in one chunk. Together the pieces of a file cover all its pages. */
struct piece {
	uint32_t chunk, off;   /* in words */
	uint32_t page0, pages; /* address in the file >> ALYS_PAGE_SHIFT */
};

struct file {
	size_t first, n; /* in pieces */
};

/* A process' part of the mappings array. */
struct run {
	uint32_t tgid, first, n;
};

struct tables {
	struct table_maps maps;
	struct alys_chunk *chunks[ALYS_MAX_CHUNKS];
	size_t chunks_cnt;
	uint32_t used; /* words of the last chunk */
	struct piece *pieces;
	size_t pieces_cnt, pieces_cap;
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
	size_t bytes;
};

#define MAPPINGS_SZ (ALYS_MAX_MAPPINGS * sizeof(struct alys_mapping))

struct tables *tables_new(const struct table_maps *maps, struct err *err)
{
	struct tables *t = calloc(1, sizeof(*t));
	if (!t) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	t->maps = *maps;
	t->mappings = mmap(NULL, MAPPINGS_SZ, PROT_READ | PROT_WRITE, MAP_SHARED, maps->mappings, 0);
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
	for (size_t i = 0; i < t->chunks_cnt; i++)
		munmap(t->chunks[i], sizeof(struct alys_chunk));
	munmap(t->mappings, MAPPINGS_SZ);
	free(t->pieces);
	free(t->files);
	free(t->specs);
	free(t->runs);
	map_free(&t->file_of);
	free(t);
}

static int add_chunk(struct tables *t)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	uint32_t index = (uint32_t)t->chunks_cnt;
	if (t->chunks_cnt == ALYS_MAX_CHUNKS)
		return -ENOSPC;
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "alys_chunk", sizeof(uint32_t), sizeof(struct alys_chunk), 1,
				&opts);
	if (fd < 0)
		return -errno;
	void *at = mmap(NULL, sizeof(struct alys_chunk), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int rc = at == MAP_FAILED || bpf_map_update_elem(t->maps.chunks, &index, &fd, BPF_ANY) ? -errno : 0;
	close(fd); /* the outer map and the mapping keep it */
	if (!rc) {
		t->chunks[t->chunks_cnt++] = at;
		t->used = 0;
	} else if (at != MAP_FAILED) {
		munmap(at, sizeof(struct alys_chunk));
	}
	return rc;
}

/* A file numbers its own specs; the walk has one list for all. */
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

/* How many pages from `page` on fit into `room` words, with their index. */
static size_t pages_that_fit(const struct unwind_table *u, size_t page, size_t room)
{
	size_t lo = 0, hi = u->pages_cnt - page;
	while (lo < hi) {
		size_t mid = (lo + hi + 1) / 2;
		if (mid + 1 + u->pages[page + mid] - u->pages[page] <= room)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

static void copy_piece(struct tables *t, const struct piece *p, const struct unwind_table *u, size_t page,
		       const uint32_t *shared)
{
	uint32_t *out = t->chunks[p->chunk]->w + p->off;
	uint32_t from = u->pages[page], to = u->pages[page + p->pages];
	for (size_t i = 0; i <= p->pages; i++)
		*out++ = p->pages + 1 + u->pages[page + i] - from;
	for (uint32_t i = from; i < to; i++)
		*out++ = published_row(u->rows[i], shared);
	t->used += p->pages + 1 + to - from;
	t->bytes += (p->pages + 1 + to - from) * sizeof(uint32_t);
}

static int put_pieces(struct tables *t, const struct unwind_table *u, const uint32_t *shared)
{
	for (size_t page = 0; page < u->pages_cnt;) {
		size_t n = t->chunks_cnt ? pages_that_fit(u, page, ALYS_CHUNK_WORDS - t->used) : 0;
		if (!n) {
			int rc = add_chunk(t);
			if (rc)
				return rc;
			continue; /* a page has at most 4096 rows, so an empty chunk takes one */
		}
		struct piece *p = VEC_PUSH(t, pieces);
		if (!p)
			return -ENOMEM;
		*p = (struct piece){
			.chunk = (uint32_t)t->chunks_cnt - 1,
			.off = t->used,
			.page0 = (uint32_t)(u->page0 + page),
			.pages = (uint32_t)n,
		};
		copy_piece(t, p, u, page, shared);
		page += n;
	}
	return 0;
}

bool tables_has(const struct tables *t, uint64_t file)
{
	return map_get(&t->file_of, file) != NULL;
}

int tables_put(struct tables *t, uint64_t file, const struct unwind_table *rows, struct err *err)
{
	if (tables_has(t, file))
		return err_set(err, EEXIST, "the file's unwind rows are there");
	if (rows->page0 + rows->pages_cnt > UINT32_MAX)
		return err_set(err, ERANGE, "code at addresses that unwind rows cannot name");
	size_t first = t->pieces_cnt;
	uint32_t *shared = share_specs(t, rows);
	int rc = shared ? put_pieces(t, rows, shared) : -ENOMEM;
	free(shared);
	struct file *f = rc ? NULL : VEC_PUSH(t, files);
	uint64_t *index = f ? map_put(&t->file_of, file) : NULL;
	if (!rc && !index)
		rc = -ENOMEM;
	if (rc) {
		t->pieces_cnt = first;
		return err_set(err, -rc, "cannot publish unwind rows: %s", strerror(-rc));
	}
	*f = (struct file){ first, t->pieces_cnt - first };
	*index = t->files_cnt - 1;
	return 0;
}

/*
 * A file of several pieces takes as many mappings, cut where a piece begins; what lies before the
 * first and behind the last piece goes with these.
 */
static size_t split(const struct tables *t, const struct table_mapping *m, struct alys_mapping *out)
{
	const uint64_t *index = m->file ? map_get(&t->file_of, m->file) : NULL;
	struct alys_mapping whole = { .start = m->start, .end = m->end, .bias = m->bias };
	size_t n = 0;
	if (!index) {
		*out = whole;
		return 1;
	}
	const struct file *f = &t->files[*index];
	for (size_t i = 0; i < f->n; i++) {
		const struct piece *p = &t->pieces[f->first + i];
		uint64_t lo = ((uint64_t)p->page0 << ALYS_PAGE_SHIFT) + m->bias;
		uint64_t hi = ((uint64_t)(p->page0 + p->pages) << ALYS_PAGE_SHIFT) + m->bias;
		struct alys_mapping part = whole;
		if (i && lo > part.start)
			part.start = lo;
		if (i + 1 < f->n && hi < part.end)
			part.end = hi;
		if (part.start >= part.end)
			continue;
		part.chunk = p->chunk;
		part.page_off = p->off;
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
	const uint64_t *index = file ? map_get(&t->file_of, file) : NULL;
	return index && t->files[*index].n ? t->files[*index].n : 1;
}

/*
 * Next fit: room that was given up is taken again as late as possible, so that a walk that still
 * reads by an old list (or a forked child by its parent's) finds it whole.
 */
static bool find_room(const struct tables *t, uint32_t n, uint32_t *first)
{
	uint32_t at = t->next;
	bool wrapped = false;
	for (;;) {
		const struct run *in_way = NULL;
		if (at > ALYS_MAX_MAPPINGS - n) {
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

static struct run *run_of(struct tables *t, uint32_t tgid)
{
	for (size_t i = 0; i < t->runs_cnt; i++) {
		if (t->runs[i].tgid == tgid)
			return &t->runs[i];
	}
	struct run *r = VEC_PUSH(t, runs);
	if (r)
		r->tgid = tgid;
	return r;
}

static int publish(struct tables *t, uint32_t tgid, const struct alys_mapping *all, uint32_t n)
{
	struct alys_map_list list = { .n = n, .salt = t->salt += 0x9e3779b97f4a7c15ull };
	struct run *r = run_of(t, tgid);
	if (!r)
		return -ENOMEM;
	if (n > ALYS_MAX_MAPPINGS || !find_room(t, n, &list.first))
		return -ENOSPC;
	memcpy(t->mappings + list.first, all, n * sizeof(*all));
	if (bpf_map_update_elem(t->maps.map_lists, &tgid, &list, BPF_ANY))
		return -errno;
	*r = (struct run){ tgid, list.first, n };
	t->next = list.first + n;
	return 0;
}

int tables_put_mappings(struct tables *t, uint32_t tgid, const struct table_mapping *list, size_t n,
			struct err *err)
{
	size_t parts = 0, cnt = 0;
	for (size_t i = 0; i < n; i++)
		parts += pieces_of(t, list[i].file);
	struct alys_mapping *all = calloc(parts + 1, sizeof(*all));
	if (!all)
		return err_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		cnt += split(t, &list[i], all + cnt);
	qsort(all, cnt, sizeof(*all), by_start);
	int rc = cnt <= ALYS_MAX_MAPPINGS ? publish(t, tgid, all, (uint32_t)cnt) : -ENOSPC;
	free(all);
	if (rc)
		return err_set(err, -rc, "cannot publish the mappings of process %u: %s", tgid, strerror(-rc));
	return 0;
}

void tables_drop_mappings(struct tables *t, uint32_t tgid)
{
	bpf_map_delete_elem(t->maps.map_lists, &tgid);
	for (size_t i = 0; i < t->runs_cnt; i++) {
		if (t->runs[i].tgid == tgid) {
			t->runs[i] = t->runs[--t->runs_cnt];
			return;
		}
	}
}

struct tables_counts tables_counts(const struct tables *t)
{
	struct tables_counts c = {
		.files = t->files_cnt,
		.bytes = t->bytes,
		.chunks = t->chunks_cnt,
		.specs = t->specs_cnt,
		.processes = t->runs_cnt,
	};
	for (size_t i = 0; i < t->runs_cnt; i++)
		c.mappings += t->runs[i].n;
	return c;
}
