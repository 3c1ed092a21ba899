/* SPDX-License-Identifier: Apache-2.0 */
/* finder/list_users: see list_users.h. */
#include "finder/list_users.h"

#include <string.h>

#include "code/direct_calls.h"

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

static bool is_list_function(const struct list_functions *d, uint64_t vaddr)
{
	return (d->n && vaddr == d->at[0]) || (d->n > 1 && vaddr == d->at[1]);
}

static bool segment_calls(const struct elf *e, const struct elf_segment *seg, const struct site_list *l,
			  const struct list_functions *d)
{
	const struct code_range code = { seg->exec ? elf_bytes(e, seg->vaddr, seg->filesz) : NULL, seg->filesz, seg->vaddr };
	struct direct_call call;
	for (size_t at = 0; code.bytes && calls_next(&code, &at, &call);) {
		if (is_list_function(d, call.to) && !is_own(l, call.behind - 1))
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
