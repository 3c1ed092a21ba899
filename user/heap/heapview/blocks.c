/* SPDX-License-Identifier: Apache-2.0 */
/* heapview/blocks: see blocks.h. */
#include "heapview/blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"

struct reading {
	struct blocks *b;
	uint32_t tgid;
};

static void remove_block(struct blocks *b, uint64_t addr)
{
	const uint64_t *place = map_get(&b->by_addr, addr);
	if (place)
		b->all[*place].size = 0;
}

static int take(void *ctx, const struct event *e, const struct applied *a)
{
	struct reading *r = ctx;
	const struct proc *p = catalog_proc(r->b->replay.catalog, e->proc);
	(void)a;
	if (!p || p->tgid != r->tgid)
		return 0;
	if (e->kind == EVENT_FREE)
		remove_block(r->b, e->addr);
	if (e->kind == EVENT_REALLOC && e->old_addr != e->addr)
		remove_block(r->b, e->old_addr);
	if (e->kind == EVENT_EXEC || e->kind == EVENT_EXIT) {
		map_free(&r->b->by_addr);
		r->b->all_cnt = 0;
	}
	if ((e->kind != EVENT_ALLOC && e->kind != EVENT_REALLOC) || !e->addr)
		return 0;
	size_t known = r->b->by_addr.count;
	uint64_t *place = map_put(&r->b->by_addr, e->addr);
	if (!place)
		return -ENOMEM;
	if (r->b->by_addr.count != known) {
		*place = r->b->all_cnt;
		if (!VEC_PUSH(r->b, all))
			return -ENOMEM;
	}
	r->b->all[*place] = (struct block){ e->stack, e->addr, e->size };
	return 0;
}

static bool has_process(const struct catalog *c, uint32_t tgid)
{
	const struct proc *p;
	for (size_t i = 0; (p = catalog_next_proc(c, &i));) {
		if (p->tgid == tgid)
			return true;
	}
	return false;
}

int blocks_read(struct blocks *b, const char *path, uint32_t tgid, struct err *err)
{
	*b = (struct blocks){ 0 };
	struct reading r = { b, tgid };
	int rc = replay_open(&b->replay, path, err);
	if (rc)
		return rc;
	if (!has_process(b->replay.catalog, tgid))
		rc = err_set(err, ENOENT, "%s is no recording of process %u", path, tgid);
	if (!rc)
		rc = replay_events(&b->replay, take, &r, err);
	if (rc)
		blocks_free(b);
	return rc;
}

const struct block *blocks_at(const struct blocks *b, uint64_t addr)
{
	const uint64_t *place = map_get(&b->by_addr, addr);
	return place && b->all[*place].size ? &b->all[*place] : NULL;
}

void blocks_free(struct blocks *b)
{
	if (b->replay.trace)
		replay_close(&b->replay);
	free(b->all);
	map_free(&b->by_addr);
	*b = (struct blocks){ 0 };
}
