/* symbol: see symbol.h. This file: which addresses to ask, in what order. */
#include "symbol/symbol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "symbol/answer.h"

#define DEBUG_KEPT_MAX (512ull << 20) /* DWARF kept from one run to the next */
#define PROGRESS_STEP  1024

struct symbolizer {
	enum symbol_depth depth;
	struct map answerers; /* module id -> struct answerer * */
};

/* What is asked of one module. */
struct job {
	struct module_id module;
	struct map pcs;
};

struct run {
	struct symbolizer *s;
	struct catalog *catalog;
	struct map index; /* module id -> job number + 1 */
	struct job *jobs;
	size_t jobs_cnt, jobs_cap;
	void (*progress)(void *ctx, uint64_t done, uint64_t total);
	void *ctx;
	uint64_t done, total;
};

struct symbolizer *symbolizer_new(enum symbol_depth depth)
{
	struct symbolizer *s = calloc(1, sizeof(*s));
	if (s)
		s->depth = depth;
	return s;
}

void symbolizer_free(struct symbolizer *s)
{
	const struct map_slot *slot;
	if (!s)
		return;
	for (size_t i = 0; (slot = map_next(&s->answerers, &i));)
		answerer_free((struct answerer *)(uintptr_t)slot->value);
	map_free(&s->answerers);
	free(s);
}

int symbolizer_add_file(struct symbolizer *s, struct module_id m, int fd, const char *path,
			struct err *err)
{
	struct err why = { 0 };
	struct answerer *a = answerer_new(fd, path, &why);
	if (!a) {
		if (err)
			*err = why;
		return -why.code;
	}
	uint64_t *slot = map_put(&s->answerers, m.n);
	if (!slot) {
		answerer_free(a);
		return err_set(err, ENOMEM, "%s: out of memory", path);
	}
	answerer_free((struct answerer *)(uintptr_t)*slot);
	*slot = (uint64_t)(uintptr_t)a;
	return 0;
}

static struct job *job_of(struct run *r, struct module_id m)
{
	uint64_t *number = map_put(&r->index, m.n);
	if (!number)
		return NULL;
	if (!*number) {
		struct job *new = VEC_PUSH(r, jobs);
		if (!new)
			return NULL;
		new->module = m;
		*number = r->jobs_cnt;
	}
	return &r->jobs[*number - 1];
}

static int ask(struct run *r, struct module_id m, uint64_t pc)
{
	if (catalog_symbols(r->catalog, m, pc))
		return 0;
	struct job *j = job_of(r, m);
	uint64_t *seen = j ? map_put(&j->pcs, pc) : NULL;
	if (!seen)
		return -ENOMEM;
	r->total += !*seen;
	*seen = 1;
	return 0;
}

static int collect(struct run *r)
{
	const struct stack *st;
	int rc = 0;
	for (size_t i = 0; !rc && (st = catalog_next_stack(r->catalog, &i));)
		for (uint32_t k = 0; !rc && k < st->n; k++) {
			const struct mapping *map = catalog_mapping(r->catalog, st->frames[k].map);
			if (map)
				rc = ask(r, map->module, frame_pc(&st->frames[k], k));
		}
	return rc;
}

static int by_address(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
	return a < b ? -1 : a > b;
}

/* In address order, so that neighbours share what is read of the file. */
static uint64_t *sorted(const struct map *pcs)
{
	uint64_t *out = calloc(pcs->count + 1, sizeof(*out));
	const struct map_slot *slot;
	size_t n = 0;
	for (size_t i = 0; out && (slot = map_next(pcs, &i));)
		out[n++] = slot->key;
	if (out)
		qsort(out, n, sizeof(*out), by_address);
	return out;
}

static int answer(struct run *r, struct answerer *a, struct module_id m, uint64_t pc)
{
	struct symbol symbols[SOURCE_DEPTH];
	int n = 1;
	if (a)
		n = answerer_find(a, r->s->depth, pc, symbols);
	else
		symbols[0] = (struct symbol){ .quality = SYMBOL_MODULE };
	if (n < 0)
		return n;
	if (r->progress && ++r->done % PROGRESS_STEP == 0)
		r->progress(r->ctx, r->done, r->total);
	return catalog_put_symbols(r->catalog, m, pc,
				   &(struct symbols){ .n = (size_t)n, .at = symbols });
}

static int do_job(struct run *r, const struct job *j)
{
	const uint64_t *slot = map_get(&r->s->answerers, j->module.n);
	struct answerer *a = slot ? (struct answerer *)(uintptr_t)*slot : NULL;
	uint64_t *pcs = sorted(&j->pcs);
	int rc = pcs ? 0 : -ENOMEM;
	for (size_t i = 0; !rc && i < j->pcs.count; i++)
		rc = answer(r, a, j->module, pcs[i]);
	free(pcs);
	return rc;
}

static void keep_small(struct symbolizer *s)
{
	const struct map_slot *slot;
	uint64_t sum = 0;
	for (size_t i = 0; (slot = map_next(&s->answerers, &i));) {
		struct answerer *a = (struct answerer *)(uintptr_t)slot->value;
		sum += answerer_debug_bytes(a);
		if (sum <= DEBUG_KEPT_MAX)
			continue;
		sum -= answerer_debug_bytes(a);
		answerer_drop_debug(a);
	}
}

static void run_free(struct run *r)
{
	for (size_t i = 0; i < r->jobs_cnt; i++)
		map_free(&r->jobs[i].pcs);
	free(r->jobs);
	map_free(&r->index);
}

int symbolizer_run(struct symbolizer *s, struct catalog *c,
		   void (*progress)(void *ctx, uint64_t done, uint64_t total), void *ctx,
		   struct err *err)
{
	struct run r = { .s = s, .catalog = c, .progress = progress, .ctx = ctx };
	int rc = collect(&r);
	for (size_t i = 0; !rc && i < r.jobs_cnt; i++) {
		rc = do_job(&r, &r.jobs[i]);
		keep_small(s);
	}
	if (!rc && progress && r.total)
		progress(ctx, r.total, r.total);
	run_free(&r);
	return rc ? err_set(err, -rc, "symbols: %s", strerror(-rc)) : 0;
}
