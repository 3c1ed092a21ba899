/* sink/lives: see lives.h. */
#include "sink/lives.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

/* Borrowed until the next process comes. */
static struct map *proc_of(struct lives *l, struct proc_id id)
{
	uint64_t *known = map_get(&l->proc_index, id.n);
	if (known)
		return &l->procs[*known];
	struct map *m = VEC_PUSH(l, procs);
	uint64_t *place = m ? map_put(&l->proc_index, id.n) : NULL;
	if (!place) {
		l->procs_cnt -= m ? 1 : 0;
		return NULL;
	}
	*place = l->procs_cnt - 1;
	return m;
}

static int end_place(struct lives *l, uint32_t place, enum life_end how, const struct event *e)
{
	uint32_t *unused = VEC_PUSH(l, unused);
	if (!unused)
		return -ENOMEM;
	*unused = place;
	l->ended(l->ctx, &l->at[place], how, e);
	return 0;
}

static int end_address(struct lives *l, struct map *m, uint64_t addr, enum life_end how,
		       const struct event *e)
{
	uint64_t *place = map_get(m, addr);
	if (!place)
		return 0;
	int rc = end_place(l, (uint32_t)*place, how, e);
	map_del(m, addr);
	return rc;
}

static int begin(struct lives *l, struct map *m, const struct event *e, double cnt, uint32_t tag,
		 const struct life **born)
{
	if (!l->unused_cnt) {
		uint32_t *unused = l->at_cnt < UINT32_MAX ? VEC_PUSH(l, unused) : NULL;
		if (!unused || !VEC_PUSH(l, at)) {
			l->unused_cnt = 0;
			return -ENOMEM;
		}
		*unused = (uint32_t)(l->at_cnt - 1);
	}
	uint64_t *place = map_put(m, e->addr);
	if (!place)
		return -ENOMEM;
	*place = l->unused[--l->unused_cnt];
	struct life *life = &l->at[*place];
	*life = (struct life){ ++l->last_id, e->time_ns, e->size, cnt, tag };
	*born = life;
	return 1;
}

static int by_birth(const void *a, const void *b, void *ctx)
{
	const struct life *at = ctx;
	uint64_t x = at[*(const uint32_t *)a].id, y = at[*(const uint32_t *)b].id;
	return (x > y) - (x < y);
}

/* In order of birth: the table's own order is that of addresses, which changes from run to run. */
static int end_all(struct lives *l, struct map *m, enum life_end how, const struct event *e)
{
	uint32_t *places = calloc(m->count + 1, sizeof(*places));
	const struct map_slot *s;
	size_t n = 0;
	int rc = 0;
	if (!places)
		return -ENOMEM;
	for (size_t i = 0; (s = map_next(m, &i));)
		places[n++] = (uint32_t)s->value;
	qsort_r(places, n, sizeof(*places), by_birth, l->at);
	for (size_t i = 0; !rc && i < n; i++)
		rc = end_place(l, places[i], how, e);
	free(places);
	map_free(m);
	return rc;
}

static int apply_call(struct lives *l, const struct event *e, const struct applied *a, uint32_t tag,
		      const struct life **born)
{
	struct map *m = proc_of(l, e->proc);
	if (!m)
		return -ENOMEM;
	int rc = 0;
	if (a->prev_addr)
		rc = end_address(l, m, a->prev_addr,
				 e->kind == EVENT_REALLOC && e->addr ? LIFE_MOVED : LIFE_FREED, e);
	if (rc || e->kind == EVENT_FREE || !e->addr)
		return rc;
	rc = end_address(l, m, e->addr, LIFE_MISSED, e);
	return rc ? rc : begin(l, m, e, a->weight, tag, born);
}

int lives_apply(struct lives *l, const struct event *e, const struct applied *a, uint32_t tag,
		const struct life **born)
{
	switch (e->kind) {
	case EVENT_ALLOC:
	case EVENT_REALLOC:
	case EVENT_FREE:
		return apply_call(l, e, a, tag, born);
	case EVENT_EXEC:
	case EVENT_EXIT: {
		uint64_t *known = map_get(&l->proc_index, e->proc.n);
		enum life_end how = e->kind == EVENT_EXEC ? LIFE_EXEC : LIFE_EXIT;
		return known ? end_all(l, &l->procs[*known], how, e) : 0;
	}
	default:
		return 0;
	}
}

int lives_end(struct lives *l)
{
	int rc = 0;
	for (size_t i = 0; !rc && i < l->procs_cnt; i++)
		rc = end_all(l, &l->procs[i], LIFE_LEFT, NULL);
	return rc;
}

void lives_free(struct lives *l)
{
	for (size_t i = 0; i < l->procs_cnt; i++)
		map_free(&l->procs[i]);
	map_free(&l->proc_index);
	free(l->procs);
	free(l->at);
	free(l->unused);
}
