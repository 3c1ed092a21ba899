/* SPDX-License-Identifier: Apache-2.0 */
/* heapreader/work: see work.h. */
#include "heapreader/work.h"

#include <stdio.h>

#include "collector/collector.h"
#include "collector/variables.h"
#include "marking/heap_copy.h"

static struct memory memory_of(const struct heapreader_place *p)
{
	return (struct memory){ .tgid = p->tgid, .through = p->through };
}

int work_find(uint32_t tgid, struct heapreader_place *out, struct err *err)
{
	struct collector c;
	int rc = collector_find(&c, tgid, err);
	if (rc)
		return rc;
	*out = (struct heapreader_place){
		.tgid = tgid, .through = c.memory.through, .dev = c.dev, .ino = c.ino, .layout = c.layout
	};
	variables_of(&c, &out->own);
	collector_close(&c);
	return 0;
}

int work_prove(uint32_t tgid, bool known, struct heapreader_proof *out, struct err *err)
{
	struct collector c;
	struct err untyped;
	int rc = collector_find(&c, tgid, err);
	if (rc)
		return rc;
	out->crystal = collector_is_crystal(&c);
	out->typed = !out->crystal || !collector_types(&c, NULL, &out->types, &untyped);
	if (!known) {
		rc = collector_prove(&c, err);
		out->proof = c.proof;
	}
	collector_close(&c);
	return rc;
}

int work_heap(const struct heapreader_place *p, struct boehm_heap *out, struct err *err)
{
	struct memory m = memory_of(p);
	return boehm_heap_read_now(&m, &p->layout, out, err);
}

void work_ahead_free(struct work_ahead *a)
{
	for (size_t i = 0; i < WORK_AHEAD; i++)
		memory_ahead_free(&a->of[i]);
}

int work_marks(const struct heapreader_place *p, uint64_t *asked, size_t cnt, struct work_ahead *ahead, struct boehm_heap *out,
	       struct err *err)
{
	struct memory m = memory_of(p);
	if (asked)
		memory_ahead_begin(&m, &ahead->of[p->tgid % WORK_AHEAD]);
	return boehm_heap_read_marks(&m, &p->layout, asked, cnt, out, err);
}

int work_copy(const struct heapreader_place *p, const struct boehm_heap *h, size_t max, struct buf *out)
{
	struct rights_range variables[OWN_VARIABLES_MAX];
	struct memory m = memory_of(p);
	struct heap_copy *copy;
	for (size_t i = 0; i < p->own.variables_cnt; i++) {
		const struct root_exclude *v = &p->own.variables[i];
		variables[i] = (struct rights_range){ v->start, v->end - v->start };
	}
	int rc = heap_copy_new(&m, h, variables, p->own.variables_cnt, max, &copy);
	if (copy)
		heap_copy_put(copy, out);
	heap_copy_free(copy);
	return rc;
}

int work_count(const struct heapreader_place *p, uint64_t *gc_no)
{
	struct memory m = memory_of(p);
	return boehm_gc_no(&m, &p->layout, gc_no);
}

int work_compare(const struct heapreader_place *p, const struct heapreader_question *q, struct unknown *out)
{
	struct memory m = memory_of(p);
	struct heap_copy *copy = NULL;
	int rc = q->copy ? heap_copy_take(q->copy->data, q->copy->len, &copy) : 0;
	if (copy)
		m.source = heap_copy_source(copy);
	rc = rc ?: unknown_find(&m, &p->own, q->heap, q->recorded, q->most, out);
	heap_copy_free(copy);
	return rc;
}
