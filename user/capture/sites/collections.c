/* SPDX-License-Identifier: Apache-2.0 */
/* sites/collections: see collections.h. */
#include "sites/collections.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "code/values.h"
#include "unwind/ehframe.h"

#define MAX_REGION (8u << 20) /* of a collector's code */
#define AHEAD 8               /* number of instructions searched for a cheap one */

/* A function by its unwind entry. */
struct part {
	uint64_t lo, hi;
};

struct search {
	struct funcs funcs;
	struct eh_frame frames;
	struct unwind_section section;
	struct part *callers; /* functions that call `counter` */
	size_t callers_cnt, callers_cap;
	struct part counter;
	struct collection_sites *out;
	int rc;
};

/* What registers hold, followed through straight-line code. */
struct regs {
	insn_regs points; /* the counter's address */
	insn_regs counts; /* its value */
	insn_regs plus;   /* its value and one */
};

static bool is_collectors(const char *name)
{
	return !strncmp(name, "GC_", 3);
}

/* The collector's functions are adjacent: from the first to the last name with its prefix. */
static bool find_region(const struct funcs *f, uint64_t *lo, uint64_t *hi)
{
	*lo = UINT64_MAX;
	*hi = 0;
	for (size_t i = 0; i < f->list_cnt; i++) {
		const struct func *fn = &f->list[i];
		if (!is_collectors(fn->name))
			continue;
		*lo = fn->vaddr < *lo ? fn->vaddr : *lo;
		*hi = fn->vaddr + fn->size > *hi ? fn->vaddr + fn->size : *hi;
	}
	return *lo < *hi && *hi - *lo < MAX_REGION;
}

static bool is_counter(const struct search *s, const struct regs *r, const struct insn_use *u)
{
	return u->base >= 0 ? !u->disp && r->points & INSN_BIT(u->base) : u->address == s->funcs.gc_no_vaddr;
}

/* Does the dynamic linker put the counter's address there? */
static bool is_counters_slot(const struct search *s, uint64_t address)
{
	const char *name = elf_slot_target(s->funcs.elf, address);
	return name && !strcmp(name, "GC_gc_no");
}

static bool points_to_counter(const struct search *s, const struct insn_use *u)
{
	if (u->does == INSN_POINTS)
		return u->address == s->funcs.gc_no_vaddr;
	return u->does == INSN_LOADS && u->base < 0 && is_counters_slot(s, u->address);
}

/* Follows one instruction; true if it increments the counter. */
static bool step(const struct search *s, const struct insn *in, const struct insn_use *u, struct regs *r)
{
	struct regs was = *r;
	insn_regs bit = u->reg >= 0 ? INSN_BIT(u->reg) : 0, kept = ~in->writes;
	if (in->flow == INSN_CALL)
		kept = insn_machine.call_keeps;
	*r = (struct regs){ was.points & kept, was.counts & kept, was.plus & kept };
	if (in->copy_to >= 0 && was.points & INSN_BIT(in->copy_from))
		r->points |= INSN_BIT(in->copy_to);
	if (points_to_counter(s, u))
		r->points |= bit;
	else if (u->does == INSN_LOADS && is_counter(s, &was, u))
		r->counts |= bit;
	else if (u->does == INSN_PLUS_1 && u->from >= 0 && was.counts & INSN_BIT(u->from))
		r->plus |= bit;
	return (u->does == INSN_COUNTS && is_counter(s, &was, u)) ||
	       (u->does == INSN_STORES && was.plus & bit && is_counter(s, &was, u));
}

static bool decode(const struct search *s, uint64_t at, uint64_t hi, struct insn *in, const uint8_t **bytes)
{
	size_t n = hi - at < INSN_MAX_LEN ? hi - at : INSN_MAX_LEN;
	*bytes = elf_bytes(s->funcs.elf, at, n);
	return *bytes && insn_decode(*bytes, n, at, in);
}

static void add_site(struct search *s, uint64_t vaddr, uint32_t cfa_off, uint32_t phase)
{
	struct collection_site x = {
		.wire = { .vaddr = vaddr, .gc_no_vaddr = s->funcs.gc_no_vaddr, .cfa_off = cfa_off, .phase = phase },
	};
	struct collection_site *slot = elf_offset_of(s->funcs.elf, vaddr, &x.offset) ? VEC_PUSH(s->out, sites) : NULL;
	if (slot)
		*slot = x;
	else
		s->rc = -ENOMEM;
}

/* Is there a jump to an address after `lo`, up to `hi`? */
static bool is_entered(const struct search *s, const struct part *p, uint64_t lo, uint64_t hi)
{
	struct insn in;
	const uint8_t *bytes;
	for (uint64_t at = p->lo; at < p->hi && decode(s, at, p->hi, &in, &bytes); at += in.len) {
		if (in.target > lo && in.target <= hi)
			return true;
	}
	return false;
}

/*
 * The first emulated instruction from here on: single-stepping takes ten times as long, while the world is stopped.
 * Nothing relevant changes until the next call or jump.
 */
static uint64_t cheapest_from(const struct search *s, const struct part *p, uint64_t from)
{
	struct insn in;
	const uint8_t *bytes;
	uint64_t at = from;
	for (int i = 0; i < AHEAD && at < p->hi && decode(s, at, p->hi, &in, &bytes); i++) {
		if (in.cost == INSN_EMULATED)
			return is_entered(s, p, from, at) ? from : at;
		if (in.flow != INSN_NEXT)
			break;
		at += in.len;
	}
	return from;
}

/* May the function add one to a word in memory? Most do not, and are not looked at any more. */
static bool may_count(const struct search *s, const struct part *p)
{
	insn_regs plus = 0;
	struct insn in;
	const uint8_t *bytes;
	for (uint64_t at = p->lo; at < p->hi && decode(s, at, p->hi, &in, &bytes); at += in.len) {
		struct insn_use u;
		insn_use_of(bytes, in.len, at, &u);
		insn_regs bit = u.reg >= 0 ? INSN_BIT(u.reg) : 0;
		if (u.does == INSN_COUNTS || (u.does == INSN_STORES && plus & bit))
			return true;
		plus = u.does == INSN_PLUS_1 ? plus | bit : plus & ~in.writes;
	}
	return false;
}

/* What an instruction does, with an address that others have put into a register. */
static struct insn_use use_of(const struct search *s, const struct flow *w, const struct insn_known *known, const struct insn *in,
			      const uint8_t *bytes)
{
	struct insn_use u;
	int32_t i = flow_find(w, in->vaddr);
	insn_use_of(bytes, in->len, in->vaddr, &u);
	if (i < 0 || u.base < 0)
		return u;
	const struct insn_value *base = &known[i].of[u.base];
	bool points = base->origin == INSN_WORD_AT && !u.disp && is_counters_slot(s, base->value);
	if (points)
		u.address = s->funcs.gc_no_vaddr;
	if (points || insn_address(&known[i], u.base, u.disp, &u.address))
		u.base = INSN_NO_REG;
	return u;
}

static bool follow(struct search *s, const struct part *p, const struct flow *w, const struct insn_known *known)
{
	struct regs r = { 0 };
	bool found = false;
	struct insn in;
	const uint8_t *bytes;
	for (uint64_t at = p->lo; at < p->hi && decode(s, at, p->hi, &in, &bytes); at += in.len) {
		struct insn_use u = use_of(s, w, known, &in, bytes);
		if (!step(s, &in, &u, &r))
			continue;
		add_site(s, cheapest_from(s, p, at + in.len), 0, ALYS_GC_MARKED);
		found = true;
	}
	return found;
}

/* True if the function increments the counter. */
static bool find_counting(struct search *s, const struct part *p)
{
	struct flow w = { 0 };
	bool found = false;
	if (!may_count(s, p))
		return false;
	int rc = flow_build(&w, &s->funcs, p->lo, p->hi - p->lo);
	struct insn_known *known = rc ? NULL : values_known(&w);
	if (known)
		found = follow(s, p, &w, known);
	else
		s->rc = -ENOMEM;
	free(known);
	flow_free(&w);
	return found;
}

static bool calls(const struct search *s, const struct part *p, uint64_t target)
{
	struct insn in;
	const uint8_t *bytes;
	for (uint64_t at = p->lo; at < p->hi && decode(s, at, p->hi, &in, &bytes); at += in.len) {
		if (in.flow == INSN_CALL && in.target == target)
			return true;
	}
	return false;
}

/* A part that the compiler moved elsewhere (.cold) is no function: there the frame is already set up. */
static bool is_entry(const struct search *s, const struct part *p)
{
	struct unwind_section only = s->section;
	struct unwind_row row;
	struct err err;
	only.text_lo = p->lo;
	only.text_hi = p->hi;
	struct unwind_table *t = unwind_compile_section(&only, &err);
	bool is = t && unwind_row_at(t, p->lo, &row) && row.kind == ALYS_ROW_SPEC && !row.rule.base_bp && !row.rule.deref &&
		  row.rule.off == insn_machine.entry_cfa;
	unwind_free(t);
	return is;
}

static int add_caller(struct search *s, const struct part *p)
{
	struct part *slot = VEC_PUSH(s, callers);
	if (!slot)
		return -ENOMEM;
	*slot = *p;
	return 0;
}

static struct part part_of(const struct eh_fde *f)
{
	return (struct part){ f->lo, f->hi };
}

static int find_callers(struct search *s)
{
	const struct func *inner = funcs_named(&s->funcs, "GC_try_to_collect_inner");
	if (inner && inner->vaddr == s->counter.lo)
		return add_caller(s, &s->counter);
	int rc = 0;
	for (size_t i = 0; i < s->frames.fdes_cnt && !rc; i++) {
		struct part p = part_of(&s->frames.fdes[i]);
		if (calls(s, &p, s->counter.lo) && is_entry(s, &p))
			rc = add_caller(s, &p);
	}
	return rc;
}

/* Does this node continue only to `on`? */
static bool leads_only_to(const struct flow *w, const struct flow_node *n, int32_t on)
{
	int32_t other = n->next == on ? n->jump : n->next;
	return n->in.flow != INSN_CALL && (other < 0 || w->nodes[other].no_return);
}

/*
 * Where a `ret` is single-stepped, it has ten times the cost of an emulated instruction. The stack protector's branch
 * before it will do: nothing happens in between, and its other target ends the program.
 */
static const struct flow_node *cheapest_end(const struct flow *w, const struct flow_node *ret)
{
	int32_t i = (int32_t)(ret - w->nodes);
	while (!insn_machine.cheap_ret && !w->unproven && w->nodes[i].preds == 1 && !w->nodes[i].root) {
		int32_t before = flow_before(w, i);
		const struct flow_node *n = &w->nodes[before];
		if (!leads_only_to(w, n, i))
			break;
		if (n->in.cost == INSN_EMULATED)
			return n;
		i = before;
	}
	return ret;
}

static int watch_caller(struct search *s, const struct part *p)
{
	struct flow w;
	size_t before = s->out->sites_cnt;
	int rc = flow_build(&w, &s->funcs, p->lo, p->hi - p->lo);
	if (rc)
		return rc;
	add_site(s, p->lo, (uint32_t)insn_machine.entry_cfa, ALYS_GC_BEGINS);
	for (size_t i = 0; i < w.nodes_cnt; i++) {
		const struct flow_node *n = &w.nodes[i];
		if (n->leave == FLOW_RETURNS)
			n = cheapest_end(&w, n);
		else if (n->leave != FLOW_JUMPS_ON)
			continue;
		if (n->in.vaddr != p->lo && n->in.cost != INSN_REFUSED)
			add_site(s, n->in.vaddr, 0, ALYS_GC_ENDS);
	}
	/* After a begin without an end, marks would be expected that never come. */
	if (s->out->sites_cnt < before + 2)
		s->out->sites_cnt = before;
	flow_free(&w);
	return s->rc;
}

static enum gc_unseen find_all(struct search *s)
{
	size_t counters = 0;
	for (size_t i = 0; i < s->frames.fdes_cnt && !s->rc; i++) {
		struct part p = part_of(&s->frames.fdes[i]);
		if (!find_counting(s, &p))
			continue;
		s->counter = p;
		counters++;
	}
	if (!s->rc && counters != 1)
		return counters ? GC_MANY_COUNTS : GC_NO_COUNT;
	size_t marks = s->out->sites_cnt;
	int rc = s->rc ? s->rc : find_callers(s);
	for (size_t i = 0; i < s->callers_cnt && !rc; i++)
		rc = watch_caller(s, &s->callers[i]);
	if (rc)
		return GC_UNSEARCHED;
	return s->out->sites_cnt == marks ? GC_NO_ENDS : GC_SEEN;
}

static enum gc_unseen read_frames(struct search *s)
{
	struct err err;
	struct unwind_section *u = &s->section;
	if (!s->funcs.gc_no_vaddr || !find_region(&s->funcs, &u->text_lo, &u->text_hi))
		return GC_NO_SYMBOL;
	u->bytes = elf_section(s->funcs.elf, ".eh_frame", &u->size, &u->vaddr);
	if (!u->bytes)
		return GC_NO_FRAMES;
	int rc = eh_frame_read(&s->frames, u, &err);
	return !rc ? GC_SEEN : rc == -ENOMEM ? GC_UNSEARCHED : GC_BAD_FRAMES;
}

enum gc_unseen collections_find(const struct elf *e, struct collection_sites *out)
{
	struct search s = { .out = out };
	struct err err;
	*out = (struct collection_sites){ 0 };
	if (funcs_load(&s.funcs, e, &err))
		return GC_UNSEARCHED;
	enum gc_unseen why = read_frames(&s);
	if (!why)
		why = find_all(&s);
	if (why)
		collections_free(out);
	eh_frame_free(&s.frames);
	funcs_free(&s.funcs);
	free(s.callers);
	return why;
}

void collections_free(struct collection_sites *c)
{
	free(c->sites);
	*c = (struct collection_sites){ 0 };
}
