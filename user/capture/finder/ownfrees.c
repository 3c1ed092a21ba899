/* SPDX-License-Identifier: Apache-2.0 */
/* finder/ownfrees: see ownfrees.h. */
#include "finder/ownfrees.h"

#include <string.h>

#include "code/direct_calls.h"

struct calls {
	uint64_t returns[ALYS_MAX_OWN_FREES];
	size_t n; /* including those without room in `returns` */
};

/* Direct calls of `to` between lo and hi. */
static void find_calls(const struct elf *e, uint64_t lo, uint64_t hi, uint64_t to, struct calls *out)
{
	const struct code_range code = { hi > lo ? elf_bytes(e, lo, hi - lo) : NULL, hi - lo, lo };
	struct direct_call call;
	for (size_t at = 0; code.bytes && calls_next(&code, &at, &call);) {
		if (call.jumps || call.to != to)
			continue;
		if (out->n < ALYS_MAX_OWN_FREES)
			out->returns[out->n] = call.behind;
		out->n++;
	}
}

/* In all executable segments. */
static void find_everywhere(const struct elf *e, uint64_t to, struct calls *out)
{
	const struct elf_segment *seg;
	size_t n = elf_segments(e, &seg);
	for (size_t i = 0; i < n; i++) {
		if (seg[i].exec)
			find_calls(e, seg[i].vaddr, seg[i].vaddr + seg[i].filesz, to, out);
	}
}

static void note_code(struct plan *p)
{
	const struct elf_segment *seg;
	size_t n = elf_segments(p->funcs.elf, &seg);
	struct alys_range *code = &p->list->code;
	for (size_t i = 0; i < n; i++) {
		if (!seg[i].exec)
			continue;
		if (!code->hi || seg[i].vaddr < code->lo)
			code->lo = seg[i].vaddr;
		if (seg[i].vaddr + seg[i].memsz > code->hi)
			code->hi = seg[i].vaddr + seg[i].memsz;
	}
}

/*
 * With symbols, the calls are in one function. Without: glibc's shared library calls free through its PLT, so that
 * programs can replace it, except within its own allocator. There are three such calls; linked into a program, dozens.
 */
void ownfrees_find(struct plan *p)
{
	const struct func *to = funcs_named(&p->funcs, "free");
	const struct func *shutdown = funcs_named(&p->funcs, "__malloc_arena_thread_freeres");
	struct calls found = { 0 };
	note_code(p);
	if (!to)
		return;
	if (shutdown && shutdown->size)
		find_calls(p->funcs.elf, shutdown->vaddr, shutdown->vaddr + shutdown->size, to->vaddr, &found);
	else if (funcs_named(&p->funcs, "gnu_get_libc_version"))
		find_everywhere(p->funcs.elf, to->vaddr, &found);
	if (found.n <= ALYS_MAX_OWN_FREES)
		memcpy(p->list->own_frees, found.returns, sizeof(found.returns));
}
