/* SPDX-License-Identifier: Apache-2.0 */
/* naming/rebase: see rebase.h. */
#include "naming/rebase.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "base/vec.h"

#define PAGE_MASK 0xfffull

/* The address that old traces assumed for this file offset. */
static uint64_t taken_for(const struct elf_segment *segments, size_t n, uint64_t offset)
{
	for (size_t i = 0; i < n; i++)
		if (offset >= segments[i].offset && offset - segments[i].offset < segments[i].filesz)
			return segments[i].vaddr + (offset - segments[i].offset);
	return offset;
}

static bool true_bias(const struct elf *e, const struct mapping *m, uint64_t *bias)
{
	const struct elf_segment *segments;
	size_t n = elf_segments(e, &segments);
	uint64_t begin = m->start - m->bias, vaddr;
	for (size_t i = 0; i < n; i++)
		if (segments[i].exec && begin == (segments[i].vaddr & ~PAGE_MASK))
			return false;
	for (size_t i = 0; i < n; i++) {
		const struct elf_mapped part = { segments[i].offset & ~PAGE_MASK, m->end - m->start, true };
		if (!segments[i].exec || taken_for(segments, n, part.offset) != begin || !elf_mapped_vaddr(e, &part, &vaddr))
			continue;
		*bias = m->start - vaddr;
		return *bias != m->bias;
	}
	return false;
}

struct rebase_mapping {
	uint32_t module, map;
};

struct rebase_move {
	uint32_t map;
	uint64_t by;
};

static int by_module(const void *a, const void *b)
{
	const struct rebase_mapping *x = a, *y = b;
	return x->module != y->module ? (x->module > y->module) - (x->module < y->module) : (x->map > y->map) - (x->map < y->map);
}

static int by_map(const void *a, const void *b)
{
	const struct rebase_move *x = a, *y = b;
	return (x->map > y->map) - (x->map < y->map);
}

static int gather(struct rebase *r)
{
	const struct mapping *m;
	if (r->mappings)
		return 0;
	for (size_t i = 0; (m = catalog_next_mapping(r->catalog, &i));) {
		struct rebase_mapping *slot = VEC_PUSH(r, mappings);
		if (!slot)
			return -ENOMEM;
		*slot = (struct rebase_mapping){ m->module.n, m->id.n };
	}
	if (r->mappings_cnt)
		qsort(r->mappings, r->mappings_cnt, sizeof(*r->mappings), by_module);
	return 0;
}

static int move_mapping(struct rebase *r, const struct mapping *m, const struct elf *e)
{
	struct mapping right = *m;
	if (!true_bias(e, m, &right.bias))
		return 0;
	struct rebase_move *move = VEC_PUSH(r, moves);
	if (!move)
		return -ENOMEM;
	*move = (struct rebase_move){ m->id.n, m->bias - right.bias };
	return catalog_put_mapping(r->catalog, &right);
}

int rebase_module(struct rebase *r, struct module_id module, const struct elf *e)
{
	int rc = gather(r);
	size_t i = SORTED_UNTIL(r->mappings_cnt, k, r->mappings[k].module < module.n);
	for (; !rc && i < r->mappings_cnt && r->mappings[i].module == module.n; i++)
		rc = move_mapping(r, catalog_mapping(r->catalog, (struct map_id){ r->mappings[i].map }), e);
	return rc;
}

static const struct rebase_move *move_of(const struct rebase *r, struct map_id map)
{
	const struct rebase_move key = { .map = map.n };
	return bsearch(&key, r->moves, r->moves_cnt, sizeof(key), by_map);
}

static int move_stack(struct rebase *r, const struct stack *s)
{
	struct stack moved = *s;
	struct frame *frames = NULL;
	for (uint32_t k = 0; k < s->n; k++) {
		const struct rebase_move *move = move_of(r, s->frames[k].map);
		if (!move)
			continue;
		if (!frames && !(frames = malloc(s->n * sizeof(*frames))))
			return -ENOMEM;
		if (moved.frames != frames)
			memcpy(frames, s->frames, s->n * sizeof(*frames));
		moved.frames = frames;
		frames[k].rel += move->by;
	}
	int rc = frames ? catalog_put_stack(r->catalog, &moved) : 0;
	free(frames);
	return rc;
}

int rebase_stacks(struct rebase *r)
{
	const struct stack *s;
	int rc = 0;
	if (r->moves_cnt)
		qsort(r->moves, r->moves_cnt, sizeof(*r->moves), by_map);
	for (size_t i = 0; !rc && r->moves_cnt && (s = catalog_next_stack(r->catalog, &i));)
		rc = move_stack(r, s);
	free(r->mappings);
	free(r->moves);
	*r = (struct rebase){ .catalog = r->catalog };
	return rc;
}
