/* SPDX-License-Identifier: Apache-2.0 */
/* sites: a list of sites, its description for BPF, and printing. See sites.h. */
#include "sites/sites.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "allocators/own.h"
#include "base/text.h"
#include "code/wire_register.h"

void sites_free(struct site_list *l)
{
	for (size_t i = 0; i < l->sites_cnt; i++) {
		free(l->sites[i].exits);
		free(l->sites[i].slow_exits);
		free(l->sites[i].late.exits);
	}
	free(l->sites);
	free(l->exits);
	beam_types_free(&l->types);
	*l = (struct site_list){ 0 };
}

uint64_t sites_digest(const struct site_list *l)
{
	const uint64_t prime = 0x100000001b3ull; /* FNV */
	uint64_t h = l->at;
	for (size_t i = 0; i < l->sites_cnt; i++) {
		const struct site *s = &l->sites[i];
		h = (h ^ (s->state == SITE_PROBED ? s->offset : 0) ^ (uint64_t)s->whole << 63) * prime;
		h = (h ^ s->exits_cnt ^ s->slow_exits_cnt << 16 ^ (uint64_t)s->predicted << 32) * prime;
	}
	for (size_t i = 0; i < l->exits_cnt; i++)
		h = (h ^ l->exits[i].offset) * prime;
	return h;
}

/* When sampling at calls, most are passed over at their entry, and it need not be proven first that they could be seen elsewhere. */
static bool may_be_whole(const struct site_list *l, const struct site *s, bool exact)
{
	bool refills = l->at == SAMPLE_AT_REFILL && s->row->nest == ALYS_NEST_CALLER;
	return (exact || refills) && s->late.at.vaddr;
}

bool sites_have_whole(const struct site_list *l, bool exact)
{
	bool have = false;
	for (size_t i = 0; i < l->sites_cnt; i++)
		have |= may_be_whole(l, &l->sites[i], exact);
	return have;
}

static void move_entry(struct site *s, const struct site_place *to)
{
	s->vaddr = to->vaddr;
	s->offset = to->offset;
	s->cfa_off = to->cfa_off;
	s->into = to->into;
	s->fp_off = to->fp_off;
	s->arg[0] = to->size_arg;
	s->kind_arg = to->kind_arg;
	s->emulated = true;
	s->unchanged = s->return_probe = s->cached = s->predicted = s->multiplied = false;
	s->why = (struct entry_reason){ .choice = ENTRY_LATE };
}

/* Does a late call come to this exit? Of one from a list, what is in its own function was seen whole. */
static bool ends_late(const struct site_list *l, const struct site *s, uint32_t exit)
{
	bool slow = !s->slow_exits_cnt;
	for (size_t k = 0; k < s->slow_exits_cnt; k++)
		slow |= s->slow_exits[k] == exit;
	return slow && !l->exits[exit].whole_call_of && !s->late.exits_cnt;
}

static void use_late(const struct site_list *l, struct site *s)
{
	size_t kept = 0;
	for (size_t k = 0; k < s->exits_cnt; k++) {
		if (ends_late(l, s, s->exits[k]))
			s->exits[kept++] = s->exits[k];
	}
	s->exits_cnt = kept;
	s->slow_exits_cnt = 0;
	s->at_callee = s->late.exits_cnt != 0;
	move_entry(s, &s->late.at);
	s->whole = true;
}

void sites_use_whole(struct site_list *l, bool exact)
{
	for (size_t i = 0; i < l->sites_cnt; i++) {
		struct site *s = &l->sites[i];
		if (may_be_whole(l, s, exact))
			use_late(l, s);
	}
}

void sites_fill_whole(const struct site_list *l, const struct site_exit *x, uint32_t object, struct alys_site *out)
{
	sites_fill_entry(&l->sites[x->whole_call_of - 1], object, out);
	out->vaddr = x->vaddr;
	out->cfa_off = (uint16_t)x->cfa_off;
	out->into = x->whole.into;
	out->fp_off = x->whole.fp_off;
	out->reg = x->reg;
	out->arg[0] = x->whole.size_arg;
	out->kind_arg = x->whole.kind_arg;
	out->flags |= ALYS_SITE_WHOLE_CALL | (x->takes ? ALYS_SITE_TAKES : 0);
	out->flags &= ~(uint32_t)ALYS_SITE_CALLEE;
}

void sites_fill_object(const struct site_list *l, struct alys_object *out)
{
	*out = (struct alys_object){
		.text_lo = l->text_lo,
		.text_hi = l->text_hi,
		.gc_no_vaddr = l->gc_no_vaddr,
		.lists = l->lists,
		.tcache = { l->tcache.slot_vaddr, l->tcache.tls_offset, l->tcache.entries, { 0 }, { 0 } },
	};
	memcpy(out->wrappers, l->wrappers, sizeof(out->wrappers));
	out->code = l->code;
	out->beam = l->beam;
	memcpy(out->own_frees, l->own_frees, sizeof(out->own_frees));
	memcpy(out->inner, l->inner, sizeof(out->inner));
}

uint64_t sites_own_probed(const struct site_list *l)
{
	uint64_t found = 0;
	for (size_t i = 0; i < l->sites_cnt; i++) {
		const struct site *s = &l->sites[i];
		for (size_t k = 0; k < own_cnt() && s->state == SITE_PROBED; k++)
			found |= (uint64_t)(s->row == own_row(k)) << k;
	}
	return found;
}

static uint32_t entry_flags(const struct site *s)
{
	bool throws = s->row->runs_user_code && s->row->nest == ALYS_NEST_THREAD;
	bool user = throws && (s->row->open || s->row->family != ALLOC_OWN);
	return (uint32_t)(s->row->flags | (s->leaf ? ALYS_SITE_LEAF : 0) | (s->jumps ? ALYS_SITE_JUMPS : 0) |
			  (user ? ALYS_SITE_USER : 0) | (throws && !s->lost && !s->presumed ? ALYS_SITE_THROWS : 0) |
			  (s->at_callee ? ALYS_SITE_CALLEE : 0) | (s->row->open ? ALYS_SITE_OPEN : 0));
}

void sites_fill_entry(const struct site *s, uint32_t object, struct alys_site *out)
{
	*out = (struct alys_site){
		.vaddr = s->vaddr,
		.object = object,
		.cfa_off = (uint16_t)s->cfa_off,
		.into = s->into,
		.fp_off = s->fp_off,
		.row = s->row_no,
		.shape = s->multiplied ? ALYS_SHAPE_SIZE : s->row->shape,
		.nest = s->row->nest,
		.arg = { s->arg[0], s->arg[1], s->arg[2] },
		.kind_arg = s->kind_arg,
		.typed = s->row->typed,
		.reg = s->reg,
		.flags = entry_flags(s),
	};
}

void sites_fill_exit(const struct site_exit *x, uint32_t object, uint8_t nest, struct alys_site *out)
{
	*out = (struct alys_site){
		.vaddr = x->vaddr,
		.object = object,
		.cfa_off = (uint16_t)x->cfa_off,
		.nest = nest,
		.reg = x->reg,
	};
}

size_t sites_exits(const struct site *s, bool predict, const uint32_t **out)
{
	if (s->at_callee) {
		*out = s->late.exits;
		return s->late.exits_cnt;
	}
	predict &= s->predicted;
	*out = predict ? s->slow_exits : s->exits;
	return predict ? s->slow_exits_cnt : s->exits_cnt;
}

static void print_place(const struct site_exit *x, struct buf *out)
{
	if (x->in[0])
		buf_addf(out, "    exit  %s+%" PRIu64, x->in, x->in_off);
	else
		buf_addf(out, "    exit  0x%" PRIx64, x->vaddr);
}

static void print_exit(const struct site_exit *x, struct buf *out)
{
	print_place(x, out);
	buf_addf(out, ": result in %s, CFA sp+%u, %s", wire_name(x->reg), x->cfa_off,
		 x->emulated                                         ? "emulated"
		 : x->reg == wire_reg(INSN_BIT(insn_machine.result)) ? "single-stepped ret"
								     : "single-stepped jump");
	if (x->why.choice)
		buf_adds(out, ": ");
	exit_reason_text(&x->why, out);
	buf_u8(out, '\n');
}

static const char *arg_name(uint8_t arg)
{
	return arg < INSN_ARGS ? wire_name(wire_reg(INSN_BIT(insn_machine.args[arg]))) : wire_name(arg - ALYS_ARG_IN(0));
}

static void print_whole_exits(const struct site_list *l, const struct site *s, struct buf *out)
{
	for (size_t i = 0; i < l->exits_cnt && s->whole; i++) {
		const struct site_exit *x = &l->exits[i];
		if (x->whole_call_of != (uint32_t)(s - l->sites) + 1)
			continue;
		print_place(x, out);
		buf_addf(out, ": the whole call%s, size in %s, result in %s, CFA sp+%u, emulated\n",
			 x->takes ? ", if a block is taken from a list" : "", arg_name(x->whole.size_arg), wire_name(x->reg),
			 x->cfa_off);
	}
}

static void print_exits(const struct site_list *l, const struct site *s, struct buf *out)
{
	const uint32_t *exits;
	size_t n = sites_exits(s, true, &exits);
	print_whole_exits(l, s, out);
	for (size_t k = 0; k < n; k++)
		print_exit(&l->exits[exits[k]], out);
	if (s->passed_on)
		buf_addf(out, "    %u jumps on to other probed functions\n", s->passed_on);
	if (s->presumed)
		buf_addf(out, "    %u jumps through pointers followed to where they point at first\n", s->presumed);
	if (!s->lost)
		return;
	buf_addf(out, "    %u ways out not followed: ", s->lost);
	lost_reason_text(&s->lost_why, out);
	buf_u8(out, '\n');
}

/* The probe's own words come from the file. */
static void print_noted(const struct site *s, struct buf *out)
{
	buf_addf(out, "%s (%s) at 0x%" PRIx64 ", found by its note: %s: ", s->row->symbol, alloc_family_name(s->family), s->vaddr,
		 s->state == SITE_PROBED ? "probed with --allocator usdt" : "refused");
	entry_reason_text(&s->why, out);
	buf_adds(out, s->semaphore ? "\n    semaphore, " : "\n    no semaphore, ");
	buf_adds(out, "arguments ");
	text_clean(out, s->said, SIZE_MAX);
	buf_u8(out, '\n');
}

static void print_name(const struct site *s, struct buf *out)
{
	if (s->row->family == ALLOC_OWN)
		text_clean(out, s->said, SIZE_MAX);
	else
		buf_adds(out, s->row->symbol);
}

static void print_found(const struct site *s, struct buf *out)
{
	buf_adds(out, "found by ");
	for (size_t i = 0; i < own_cnt(); i++) {
		if (s->row == own_row(i)) {
			own_option(i, out);
			return;
		}
	}
	buf_adds(out, "its symbol");
	if (s->row->prefix)
		buf_addf(out, ", with the prefix %s", s->row->prefix);
}

static void print_site(const struct site_list *l, const struct site *s, struct buf *out)
{
	static const char *const states[] = { "probed", "not probed", "refused" };
	if (s->row->family == ALLOC_USDT) {
		print_noted(s, out);
		return;
	}
	print_name(s, out);
	buf_addf(out, " (%s) at 0x%" PRIx64 ", ", alloc_family_name(s->family), s->func);
	print_found(s, out);
	buf_addf(out, ": %s", states[s->state]);
	if (s->state != SITE_PROBED) {
		buf_adds(out, ": ");
		entry_reason_text(&s->why, out);
		buf_u8(out, '\n');
		return;
	}
	if (s->row->shape == ALYS_SHAPE_REFILL) {
		buf_addf(out, ", seen once a refill\n    at 0x%" PRIx64 ", ", s->vaddr);
		entry_reason_text(&s->why, out);
		buf_addf(out, ": CFA sp+%u, the list in %s, emulated\n", s->cfa_off, wire_name(s->reg));
		return;
	}
	buf_addf(out, ", %s\n    entry +%" PRIu64 ": CFA sp+%u, %s: ",
		 s->return_probe                               ? "return probe"
		 : alloc_returns_block(s->row) || s->exits_cnt ? "exit sites"
							       : "entry only",
		 s->vaddr - s->func, s->cfa_off, s->emulated ? "emulated" : "single-stepped");
	entry_reason_text(&s->why, out);
	buf_u8(out, '\n');
	if (s->predicted)
		buf_addf(out,
			 "    result predicted at the entry from the thread's free lists "
			 "(%u kinds of %u)\n",
			 l->lists.kinds, l->lists.per_kind);
	if (s->cached)
		buf_addf(out, "    result predicted at the entry while %s\n",
			 s->row->shape == ALYS_SHAPE_REALLOC ? "the block is large enough"
							     : "the thread's cache has blocks of this size (tcache)");
	print_exits(l, s, out);
}

void sites_print(const struct site_list *l, struct buf *out)
{
	if (l->provider)
		buf_addf(out, "malloc by %s\n", l->provider);
	for (size_t i = 0; i < l->sites_cnt; i++)
		print_site(l, &l->sites[i], out);
}

static bool is_collected(const struct site_list *l)
{
	for (size_t i = 0; i < l->sites_cnt; i++) {
		if (l->sites[i].row->family == ALLOC_LIBGC)
			return true;
	}
	return false;
}

void sites_print_refills(const struct site_list *calls, const struct site_list *refills, struct buf *out)
{
	const char *comma = " instead of ";
	if (!is_collected(calls))
		return;
	buf_adds(out, "with --sample-at refill");
	if (refills->at != SAMPLE_AT_REFILL) {
		buf_adds(out, ": the same, no free lists of threads were found in it\n");
		return;
	}
	for (size_t i = 0; i < calls->sites_cnt; i++) {
		if (calls->sites[i].row->at != SAMPLE_AT_CALL)
			continue;
		buf_addf(out, "%s%s", comma, calls->sites[i].row->symbol);
		comma = ", ";
	}
	buf_adds(out, ":\n");
	for (size_t i = 0; i < refills->sites_cnt; i++) {
		if (refills->sites[i].row->at == SAMPLE_AT_REFILL)
			print_site(refills, &refills->sites[i], out);
	}
}
