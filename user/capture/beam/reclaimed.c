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
 * two neighbours, before it calls anything else. The data of all schedulers are an array, whose element has a constant size. On
 * x86-64 a number is multiplied by it:
 *
 *	imul $size, number, reg
 *	add erts_aligned_scheduler_data, reg
 *
 * and on aarch64 a distance grows by it in each round:
 *
 *	mov x23, size
 *	ldr x19, [erts_aligned_scheduler_data]
 *	add x19, x19, x21
 *	...
 *	add x21, x21, x23
 */
#include "beam/reclaimed.h"

#include <string.h>

#include "beam/reading.h"

#define WORD_SZ 8
#define LINE_SZ 64 /* schedulers share no line of the cache */
#define SCHEDULER_MAX (1 << 20)

/* Registers that point into the scheduler's data, and how far from its begin. */
struct pointers {
	insn_regs held;
	int64_t from_begin[INSN_REGS];
};

static bool points(const struct pointers *p, int reg)
{
	return reg >= 0 && p->held & INSN_BIT(reg);
}

static void set_pointer(struct pointers *p, int8_t reg, int64_t from_begin)
{
	if (reg < 0)
		return;
	p->held |= INSN_BIT(reg);
	p->from_begin[reg] = from_begin;
}

/* What the instruction loads from the data; else 0. */
static int64_t loaded(const struct insn_move *m, const struct pointers *p)
{
	bool loads = m->does == INSN_COPIES && m->from < 0 && points(p, m->base);
	return loads ? p->from_begin[m->base] + m->disp : 0;
}

static struct insn_fetch fetch_of(const struct reading *r)
{
	struct insn_fetch f;
	insn_fetch_of(r->bytes, r->left, r->in.vaddr, &f);
	return f;
}

static bool makes_address(const struct insn_fetch *f)
{
	return f->fetches && !f->bytes && f->index < 0;
}

static void follow(struct pointers *p, const struct reading *r, const struct insn_move *m, size_t n)
{
	struct pointers was = *p;
	struct insn_fetch sum = fetch_of(r);
	p->held &= ~r->in.writes;
	for (size_t i = 0; i < n; i++) {
		if (reading_copy_of(&m[i], was.held))
			set_pointer(p, m[i].to, was.from_begin[m[i].from]);
	}
	if (makes_address(&sum) && points(&was, sum.base))
		set_pointer(p, sum.reg, was.from_begin[sum.base] + sum.disp);
}

/* Does the function at vaddr load two neighbouring words of the scheduler's data, and only two? */
static bool reads_counts(const struct funcs *f, uint64_t vaddr, uint64_t data_of, uint64_t words[2])
{
	struct reading r = reading_of(f, vaddr);
	struct pointers p = { 0 };
	int64_t last = 0;
	size_t pairs = 0;
	while (reading_next(&r)) {
		struct insn_move m[INSN_MOVES];
		size_t n = insn_moves_of(r.bytes, r.left, m);
		if (r.in.flow == INSN_CALL && (p.held || r.in.target != data_of))
			break;
		for (size_t i = 0; i < n; i++) {
			int64_t now = loaded(&m[i], &p);
			if (now > WORD_SZ && now == last + WORD_SZ) {
				words[0] = (uint64_t)last;
				words[1] = (uint64_t)now;
				pairs++;
			}
			last = now ?: last;
		}
		follow(&p, &r, m, n);
		if (r.in.flow == INSN_CALL)
			set_pointer(&p, insn_machine.result, 0);
	}
	return pairs == 1;
}

static bool find_words(const struct funcs *f, uint64_t words[2])
{
	const struct func *request = funcs_named(f, "erts_gc_info_request"), *data = funcs_named(f, "erts_get_scheduler_data");
	size_t found = 0;
	struct reading r = request ? reading_of(f, request->vaddr) : (struct reading){ 0 };
	while (request && data && reading_next(&r)) {
		struct insn_fetch sum = fetch_of(&r);
		uint64_t at = makes_address(&sum) ? reading_address(&r, sum.base, sum.disp) : 0;
		if (at && funcs_is_code(f, at))
			found += reads_counts(f, at, data->vaddr, words);
	}
	return found == 1;
}

/* What a function does with the array of all schedulers' data. */
struct indexing {
	uint64_t variable; /* where the array's address is stored */
	uint64_t factor;   /* of the instruction before */
	int8_t distance;   /* register that is added to that address, INSN_NO_REG = none */
};

/* The size of an element, 0: this instruction does not tell. */
static uint64_t size_told(const struct indexing *x, const struct reading *r, const struct insn_load *l)
{
	if (l->adds && l->base < 0 && l->address == x->variable)
		return x->factor;
	if (!l->sums || x->distance < 0 || l->reg != x->distance)
		return 0;
	int8_t by = l->of[0] == x->distance ? l->of[1] : l->of[0];
	bool grows = by != x->distance && (l->of[0] == x->distance || l->of[1] == x->distance);
	return grows && r->known.of[by].origin == INSN_NUMBER ? r->known.of[by].value : 0;
}

static bool is_array(const struct indexing *x, const struct reading *r, int8_t reg)
{
	return r->known.of[reg].origin == INSN_WORD_AT && r->known.of[reg].value == x->variable;
}

static void follow_index(struct indexing *x, const struct reading *r, const struct insn_load *l)
{
	struct insn_constants c;
	insn_regs lost = r->in.writes | (r->in.flow == INSN_CALL ? ~insn_machine.call_keeps : 0);
	insn_constants(r->bytes, r->left, r->in.vaddr, &c);
	x->factor = c.multiplies ? c.imm : 0;
	if (l->sums && (is_array(x, r, l->of[0]) || is_array(x, r, l->of[1])))
		x->distance = l->of[is_array(x, r, l->of[0])];
	if (x->distance >= 0 && lost & INSN_BIT(x->distance))
		x->distance = INSN_NO_REG;
}

/* By what a number is multiplied to find its place in the array at `variable`; 0: not found. */
static uint64_t find_size(const struct funcs *f, uint64_t variable)
{
	const struct func *fn = funcs_named(f, "erts_process_status");
	struct reading r = fn ? reading_of(f, fn->vaddr) : (struct reading){ 0 };
	struct indexing x = { .variable = variable, .distance = INSN_NO_REG };
	uint64_t size = 0;
	while (fn && !size && reading_next(&r)) {
		struct insn_load l;
		insn_load_of(r.bytes, r.left, r.in.vaddr, &l);
		size = size_told(&x, &r, &l);
		follow_index(&x, &r, &l);
	}
	return size;
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
