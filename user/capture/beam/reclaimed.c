/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beam/reclaimed: see reclaimed.h. erts_gc_info_request has reply_gc_info executed by each scheduler (erl_gc.c). That
 * begins with
 *
 *	ErtsSchedulerData *esdp = erts_get_scheduler_data();
 *	...
 *	reclaimed = esdp->gc_info.reclaimed;
 *	garbage_cols = esdp->gc_info.garbage_cols;
 *
 * two neighbours, before it calls anything else. The data of all schedulers are an array, whose element has a constant size:
 *
 *	imul $size, number, reg
 *	add erts_aligned_scheduler_data, reg
 */
#include "beam/reclaimed.h"

#include <string.h>

#include "beam/reading.h"

#define WORD_SZ 8
#define LINE_SZ 64 /* schedulers share no line of the cache */
#define SCHEDULER_MAX (1 << 20)

/* What the instruction loads from the data that a register in `holds` points to; else 0. */
static int32_t loaded(const struct insn_move *m, insn_regs holds)
{
	bool loads = m->does == INSN_COPIES && m->from < 0 && m->base >= 0 && holds & INSN_BIT(m->base);
	return loads ? m->disp : 0;
}

/* Does the function at vaddr load two neighbouring words of the scheduler's data, and only two? */
static bool reads_counts(const struct funcs *f, uint64_t vaddr, uint64_t data_of, uint64_t words[2])
{
	struct reading r = reading_of(f, vaddr);
	insn_regs holds = 0; /* registers that point to the data */
	int32_t last = 0;
	size_t pairs = 0;
	while (reading_next(&r)) {
		struct insn_move m[INSN_MOVES];
		insn_regs copied = 0;
		size_t n = insn_moves_of(r.bytes, r.left, m);
		if (r.in.flow == INSN_CALL && (holds || r.in.target != data_of))
			break;
		for (size_t i = 0; i < n; i++) {
			int32_t now = loaded(&m[i], holds);
			if (now > WORD_SZ && now == last + WORD_SZ) {
				words[0] = (uint64_t)last;
				words[1] = (uint64_t)now;
				pairs++;
			}
			last = now ?: last;
			copied |= reading_copy_of(&m[i], holds);
		}
		holds = r.in.flow == INSN_CALL ? INSN_BIT(insn_machine.result) : holds & ~r.in.writes;
		holds |= copied;
	}
	return pairs == 1;
}

static bool find_words(const struct funcs *f, uint64_t words[2])
{
	const struct func *request = funcs_named(f, "erts_gc_info_request"), *data = funcs_named(f, "erts_get_scheduler_data");
	size_t found = 0;
	struct reading r = request ? reading_of(f, request->vaddr) : (struct reading){ 0 };
	while (request && data && reading_next(&r)) {
		struct insn_constants c;
		insn_constants(r.bytes, r.left, r.in.vaddr, &c);
		if (c.takes_address && funcs_is_code(f, c.address))
			found += reads_counts(f, c.address, data->vaddr, words);
	}
	return found == 1;
}

/* By what a number is multiplied to find its place in the array at `variable`; 0: not found. */
static uint64_t find_size(const struct funcs *f, uint64_t variable)
{
	const struct func *fn = funcs_named(f, "erts_process_status");
	struct reading r = fn ? reading_of(f, fn->vaddr) : (struct reading){ 0 };
	uint64_t by = 0;
	while (fn && reading_next(&r)) {
		struct insn_constants c;
		struct insn_load l;
		insn_load_of(r.bytes, r.left, r.in.vaddr, &l);
		if (by && l.adds && l.base < 0 && l.address == variable)
			return by;
		insn_constants(r.bytes, r.left, r.in.vaddr, &c);
		by = c.multiplies ? c.imm : 0;
	}
	return 0;
}

struct variables {
	uint64_t schedulers, number;
};

static int is_variable(void *ctx, const struct elf_symbol *s)
{
	struct variables *v = ctx;
	if (s->defined && !strcmp(s->name, "erts_aligned_scheduler_data"))
		v->schedulers = s->vaddr;
	if (s->defined && !strcmp(s->name, "erts_no_schedulers"))
		v->number = s->vaddr;
	return 0;
}

struct byte_counter beam_reclaimed_find(const struct funcs *f)
{
	struct variables v = { 0 };
	struct byte_counter c = { .unit = WORD_SZ };
	elf_each_symbol(f->elf, is_variable, &v);
	c.through = v.schedulers;
	c.parts = v.number;
	c.stride = find_size(f, v.schedulers);
	c.known = v.schedulers && v.number && find_words(f, c.words) && c.stride % LINE_SZ == 0 &&
		  c.stride >= c.words[1] + WORD_SZ && c.stride <= SCHEDULER_MAX;
	return c.known ? c : (struct byte_counter){ 0 };
}
