/* naming/rebase: see rebase.h. */
#include "naming/rebase.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static int move_frames(struct catalog *c, struct map_id map, uint64_t by)
{
	const struct stack *s;
	int rc = 0;
	for (size_t i = 0; !rc && (s = catalog_next_stack(c, &i));) {
		struct stack moved = *s;
		struct frame *frames = calloc(s->n + 1, sizeof(*frames));
		if (!frames)
			return -ENOMEM;
		for (uint32_t k = 0; k < s->n; k++) {
			frames[k] = s->frames[k];
			frames[k].rel += frames[k].map.n == map.n ? by : 0;
		}
		moved.frames = frames;
		rc = catalog_put_stack(c, &moved);
		free(frames);
	}
	return rc;
}

int rebase_module(struct catalog *c, struct module_id module, const struct elf *e)
{
	const struct mapping *m;
	int rc = 0;
	for (size_t i = 0; !rc && (m = catalog_next_mapping(c, &i));) {
		struct mapping right = *m;
		if (m->module.n != module.n || !true_bias(e, m, &right.bias))
			continue;
		rc = move_frames(c, m->id, m->bias - right.bias);
		rc = rc ? rc : catalog_put_mapping(c, &right);
	}
	return rc;
}
