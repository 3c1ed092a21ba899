/* SPDX-License-Identifier: Apache-2.0 */
/* sites/list_users: see list_users.h. */
#include "sites/list_users.h"

#include <string.h>

#define CALL_SZ 5 /* call or jmp, with its distance */

struct list_functions {
	uint64_t at[2]; /* in this file */
	size_t n;
};

/* Stops at an imported one, which is sufficient. */
static int note_list_function(void *ctx, const struct elf_symbol *s)
{
	struct list_functions *d = ctx;
	if (s->name[0] != 'G' || (strcmp(s->name, "GC_generic_malloc_many") && strcmp(s->name, "GC_malloc_many")))
		return 0;
	if (s->defined && d->n < sizeof(d->at) / sizeof(*d->at) && (!d->n || d->at[0] != s->vaddr))
		d->at[d->n++] = s->vaddr;
	return !s->defined;
}

static bool is_own(const struct site_list *l, uint64_t vaddr)
{
	return vaddr >= l->text_lo && vaddr < l->text_hi;
}

/* Tried at each byte: that the four bytes after it are this distance by chance is one case in billions. */
static bool calls(const uint8_t *code, uint64_t vaddr, const struct list_functions *d)
{
	int32_t far;
	if (*code != 0xe8 && *code != 0xe9)
		return false;
	memcpy(&far, code + 1, sizeof(far));
	uint64_t to = vaddr + CALL_SZ + (uint64_t)(int64_t)far;
	return (d->n && to == d->at[0]) || (d->n > 1 && to == d->at[1]);
}

static bool segment_calls(const struct elf *e, const struct elf_segment *seg, const struct site_list *l,
			  const struct list_functions *d)
{
	const uint8_t *code = seg->exec ? elf_bytes(e, seg->vaddr, seg->filesz) : NULL;
	for (uint64_t i = 0; code && i + CALL_SZ <= seg->filesz; i++) {
		if (calls(code + i, seg->vaddr + i, d) && !is_own(l, seg->vaddr + i))
			return true;
	}
	return false;
}

bool list_users_in(const struct elf *e, const struct site_list *l)
{
	struct list_functions d = { 0 };
	const struct elf_segment *seg;
	size_t n = elf_segments(e, &seg);
	if (elf_each_symbol(e, note_list_function, &d))
		return true;
	for (size_t i = 0; d.n && i < n; i++) {
		if (segment_calls(e, &seg[i], l, &d))
			return true;
	}
	return false;
}
