/* SPDX-License-Identifier: Apache-2.0 */
/* beam/process_layout: see process_layout.h. */
#include "beam/process_layout.h"

#include "beam/stored.h"
#include "code/funcs.h"

#define CODE_MAX 4096
#define STRUCT_MAX 4096

/* What is stored first in a slot; NULL: nothing. */
static const struct value *first_in(const struct stored *s, int64_t slot)
{
	for (size_t i = 0; i < s->cnt; i++) {
		if (s->at[i].slot == slot)
			return &s->at[i].value;
	}
	return NULL;
}

/* Is anything of this slot, measured in words, measured from there? */
static bool measured_from(const struct stored *s, int64_t slot, int32_t from)
{
	for (size_t i = 0; i < s->cnt; i++) {
		if (s->at[i].slot == slot && s->at[i].value.kind == VALUE_WORDS && s->at[i].value.b == from)
			return true;
	}
	return false;
}

/* The other heap, from which two slots are measured as well; 0: none. */
static int32_t other_heap(const struct stored *s, int64_t slot, int64_t second, int32_t heap)
{
	for (size_t i = 0; i < s->cnt; i++) {
		const struct value *v = &s->at[i].value;
		if (s->at[i].slot == slot && v->kind == VALUE_WORDS && v->b != heap && measured_from(s, second, v->b))
			return v->b;
	}
	return 0;
}

static bool is_kind(const struct value *v, enum value_kind kind)
{
	return v && v->kind == kind;
}

/* Different words of a struct of this size? */
static bool are_words(const int32_t *offsets, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < i; k++) {
			if (offsets[i] == offsets[k])
				return false;
		}
		if (offsets[i] <= 0 || offsets[i] >= STRUCT_MAX || offsets[i] % 8)
			return false;
	}
	return true;
}

/* Do the slots from that of heap_sz on hold the values of process_layout.h? */
static bool read_from(const struct stored *s, int64_t slot, struct alys_beam *out)
{
	const struct value *size = first_in(s, slot), *mbuf = first_in(s, slot + 8), *recent = first_in(s, slot + 16),
			   *stack = first_in(s, slot + 24), *used = first_in(s, slot + 40);
	if (!is_kind(size, VALUE_SUM) || !is_kind(mbuf, VALUE_WORD) || !is_kind(recent, VALUE_WORDS) ||
	    !is_kind(stack, VALUE_WORDS) || !is_kind(used, VALUE_WORDS) || used->b != recent->b)
		return false;
	int32_t other = other_heap(s, slot + 16, slot + 40, recent->b);
	const int32_t offsets[] = { recent->b, recent->a, used->a, stack->b, stack->a, size->a, mbuf->a, other };
	*out = (struct alys_beam){
		.heap = (uint16_t)recent->b,
		.high_water = (uint16_t)recent->a,
		.htop = (uint16_t)used->a,
		.stop = (uint16_t)stack->b,
		.hend = (uint16_t)stack->a,
		.heap_sz = (uint16_t)size->a,
		.mbuf_sz = (uint16_t)mbuf->a,
		.abandoned = (uint16_t)other,
	};
	return are_words(offsets, sizeof(offsets) / sizeof(offsets[0]));
}

bool beam_layout_in(const uint8_t *code, size_t n, struct alys_beam *out)
{
	struct stored s;
	size_t found = 0;
	struct alys_beam one;
	*out = (struct alys_beam){ 0 };
	stored_by(code, n, &s);
	for (size_t i = 0; i < s.cnt; i++) {
		if (!read_from(&s, s.at[i].slot, &one))
			continue;
		found++;
		*out = one;
	}
	if (found != 1)
		*out = (struct alys_beam){ 0 };
	return found == 1;
}

bool beam_layout_find(const struct funcs *f, struct alys_beam *out)
{
	const struct func *fn = funcs_named(f, BEAM_LAYOUT_FUNCTION);
	size_t n = fn ? (size_t)(funcs_end(f, fn->vaddr, CODE_MAX) - fn->vaddr) : 0;
	if (fn && fn->size && fn->size < n)
		n = (size_t)fn->size;
	const uint8_t *code = n ? elf_bytes(f->elf, fn->vaddr, n) : NULL;
	*out = (struct alys_beam){ 0 };
	return code && beam_layout_in(code, n, out);
}
