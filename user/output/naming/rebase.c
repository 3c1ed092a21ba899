/* SPDX-License-Identifier: Apache-2.0 */
/* naming/rebase: see rebase.h. */
#include "naming/rebase.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define PAGE_MASK 0xfffull

/* What they took for the address of the file's page. */
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

struct move {
	uint32_t map;
	uint64_t by;
};

struct moves {
	struct move *list; /* in the order of their mappings */
	size_t list_cnt, list_cap;
};

static int compare_moves(const void *a, const void *b)
{
	const struct move *x = a, *y = b;
	return (x->map > y->map) - (x->map < y->map);
}

static const struct move *move_of(const struct moves *m, struct map_id map)
{
	const struct move key = { .map = map.n };
	return bsearch(&key, m->list, m->list_cnt, sizeof(key), compare_moves);
}

/* The mappings themselves. */
static int move_mappings(struct catalog *c, struct module_id module, const struct elf *e, struct moves *moves)
{
	const struct mapping *m;
	int rc = 0;
	for (size_t i = 0; !rc && (m = catalog_next_mapping(c, &i));) {
		struct mapping right = *m;
		if (m->module.n != module.n || !true_bias(e, m, &right.bias))
			continue;
		struct move *move = VEC_PUSH(moves, list);
		if (!move)
			return -ENOMEM;
		*move = (struct move){ m->id.n, m->bias - right.bias };
		rc = catalog_put_mapping(c, &right);
	}
	if (moves->list_cnt)
		qsort(moves->list, moves->list_cnt, sizeof(*moves->list), compare_moves);
	return rc;
}

static int move_stack(struct catalog *c, const struct stack *s, const struct moves *moves)
{
	struct stack moved = *s;
	struct frame *frames = NULL;
	for (uint32_t k = 0; k < s->n; k++) {
		const struct move *move = move_of(moves, s->frames[k].map);
		if (!move)
			continue;
		if (!frames && !(frames = malloc(s->n * sizeof(*frames))))
			return -ENOMEM;
		if (moved.frames != frames)
			memcpy(frames, s->frames, s->n * sizeof(*frames));
		moved.frames = frames;
		frames[k].rel += move->by;
	}
	int rc = frames ? catalog_put_stack(c, &moved) : 0;
	free(frames);
	return rc;
}

/* Files and stacks are many: each stack is looked at once. */
int rebase_module(struct catalog *c, struct module_id module, const struct elf *e)
{
	struct moves moves = { 0 };
	const struct stack *s;
	int rc = move_mappings(c, module, e, &moves);
	for (size_t i = 0; !rc && moves.list_cnt && (s = catalog_next_stack(c, &i));)
		rc = move_stack(c, s, &moves);
	free(moves.list);
	return rc;
}
