/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/cfi: see cfi.h. Opcodes from DWARF 5, section 6.4.2. */
#include "unwind/cfi.h"

#include <dwarf.h>
#include <errno.h>

/* gcc nests these once, hand-written code rarely twice. */
#define CFI_REMEMBER_MAX 16

static int64_t read_sleb(struct cursor *c)
{
	uint64_t v = 0;
	unsigned int shift = 0;
	uint8_t b;
	do {
		b = cursor_u8(c);
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while ((b & 0x80) && !c->bad);
	if (shift < 64 && (b & 0x40))
		v |= ~0ull << shift;
	return (int64_t)v;
}

static uint64_t read_encoded(struct cursor *c, uint8_t format)
{
	switch (format) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8: return cursor_le(c, 8);
	case DW_EH_PE_udata4: return cursor_le(c, 4);
	case DW_EH_PE_sdata4: return (uint64_t)(int64_t)(int32_t)cursor_le(c, 4);
	case DW_EH_PE_udata2: return cursor_le(c, 2);
	case DW_EH_PE_sdata2: return (uint64_t)(int64_t)(int16_t)cursor_le(c, 2);
	case DW_EH_PE_uleb128: return cursor_varint(c);
	case DW_EH_PE_sleb128: return (uint64_t)read_sleb(c);
	default: c->bad = true; return 0;
	}
}

uint64_t cfi_pointer(struct cursor *c, uint8_t enc, const struct cfi_ptr_base *base)
{
	uint64_t here = base->vaddr + (uint64_t)(c->at - base->bytes);
	uint64_t v = read_encoded(c, enc & 0x0f);
	if ((enc & 0x70) == DW_EH_PE_pcrel)
		return v + here;
	if (enc & 0x70)
		c->bad = true;
	return v;
}

/* DW_OP_breg of two registers only: fp and sp are all that a walk carries along. */
static bool expr_base(struct cursor *c, const struct cfi_machine *m, bool *bp, int64_t *off)
{
	unsigned int reg = cursor_u8(c) - (unsigned int)DW_OP_breg0;
	if (reg != m->bp && reg != m->sp)
		return false;
	*bp = reg == m->bp;
	*off = read_sleb(c);
	return !c->bad;
}

/* base + off, *(base + off), or *(base + off) + add. */
static struct cfi_cfa expr_cfa(struct cursor c, const struct cfi_machine *m)
{
	struct cfi_cfa cfa = { .kind = CFI_CFA_PLT };
	const struct cfi_cfa odd = { .kind = CFI_CFA_ODD };
	bool bp;
	if (m->is_plt && m->is_plt(c, &cfa.off))
		return cfa;
	if (!expr_base(&c, m, &bp, &cfa.off))
		return odd;
	cfa.kind = bp ? CFI_CFA_BP : CFI_CFA_SP;
	if (!cursor_left(&c))
		return cfa;
	if (cursor_u8(&c) != DW_OP_deref)
		return odd;
	cfa.deref = true;
	if (!cursor_left(&c))
		return cfa;
	if (cursor_u8(&c) != DW_OP_plus_uconst)
		return odd;
	cfa.add = (int64_t)cursor_varint(&c);
	return c.bad || cursor_left(&c) ? odd : cfa;
}

static struct cfi_reg expr_reg(struct cursor c, const struct cfi_machine *m)
{
	struct cfi_reg r = { .kind = CFI_ODD };
	bool bp;
	if (expr_base(&c, m, &bp, &r.off) && !cursor_left(&c))
		r.kind = bp ? CFI_AT_BP : CFI_AT_SP;
	return r;
}

struct machine {
	const struct cfi_run *run;
	struct cursor c;
	struct cfi_state *s;
	uint64_t loc;
	struct cfi_state kept[CFI_REMEMBER_MAX];
	unsigned int kept_cnt;
};

static struct cfi_reg *reg_of(const struct machine *m, struct cfi_state *s, uint64_t reg)
{
	const struct cfi_machine *known = m->run->cie->machine;
	return reg == known->bp ? &s->bp : reg == known->ra ? &s->ra : reg == known->sp ? &s->sp : NULL;
}

static void set_reg(struct machine *m, uint64_t reg, enum cfi_reg_kind kind, int64_t off)
{
	struct cfi_reg *r = reg_of(m, m->s, reg);
	if (r)
		*r = (struct cfi_reg){ .kind = (uint8_t)kind, .off = off };
}

static void restore_reg(struct machine *m, uint64_t reg)
{
	struct cfi_reg *r = reg_of(m, m->s, reg);
	if (r)
		*r = *reg_of(m, (struct cfi_state *)&m->run->cie->init, reg);
}

/* Overflow on malicious factors is harmless: the result has no row or a wrong one. */
static int64_t scaled(const struct machine *m, uint64_t v)
{
	return (int64_t)(v * (uint64_t)m->run->cie->data_align);
}

static int move_to(struct machine *m, uint64_t to)
{
	if (!m->run->emit || to < m->loc || to > m->run->hi)
		return -EBADMSG;
	int rc = to > m->loc ? m->run->emit(m->run->ctx, m->loc, m->s) : 0;
	m->loc = to;
	return rc;
}

static int advance(struct machine *m, uint64_t delta)
{
	uint64_t bytes;
	if (__builtin_mul_overflow(delta, m->run->cie->code_align, &bytes) || bytes > m->run->hi - m->loc)
		return -EBADMSG;
	return move_to(m, m->loc + bytes);
}

static int keep(struct machine *m)
{
	if (m->kept_cnt == CFI_REMEMBER_MAX)
		return -EBADMSG;
	m->kept[m->kept_cnt++] = *m->s;
	return 0;
}

static int unkeep(struct machine *m)
{
	if (!m->kept_cnt)
		return -EBADMSG;
	*m->s = m->kept[--m->kept_cnt];
	return 0;
}

static void def_cfa(struct machine *m, uint64_t reg, int64_t off)
{
	const struct cfi_machine *known = m->run->cie->machine;
	uint8_t kind = reg == known->bp ? CFI_CFA_BP : reg == known->sp ? CFI_CFA_SP : CFI_CFA_ODD;
	m->s->cfa =
		(struct cfi_cfa){ .kind = kind, .reg = kind == CFI_CFA_ODD && reg <= UINT8_MAX ? (uint8_t)reg : 0, .off = off };
}

/* Only after a register: no offset counts from an expression. */
static void def_offset(struct machine *m, int64_t off)
{
	struct cfi_cfa *cfa = &m->s->cfa;
	*cfa = (struct cfi_cfa){ .kind = cfa->deref ? CFI_CFA_ODD : cfa->kind, .reg = cfa->reg, .off = off };
}

static struct cursor read_block(struct cursor *c)
{
	uint64_t n = cursor_varint(c);
	return cursor_sub(c, n);
}

static void cfa_op(struct machine *m, uint8_t op)
{
	struct cursor *c = &m->c;
	struct cfi_cfa *cfa = &m->s->cfa;
	uint64_t reg;
	switch (op) {
	case DW_CFA_def_cfa:
		reg = cursor_varint(c);
		def_cfa(m, reg, (int64_t)cursor_varint(c));
		break;
	case DW_CFA_def_cfa_sf:
		reg = cursor_varint(c);
		def_cfa(m, reg, scaled(m, (uint64_t)read_sleb(c)));
		break;
	case DW_CFA_def_cfa_register: def_cfa(m, cursor_varint(c), cfa->off); break;
	case DW_CFA_def_cfa_offset_sf: def_offset(m, scaled(m, (uint64_t)read_sleb(c))); break;
	default: *cfa = expr_cfa(read_block(c), m->run->cie->machine);
	}
}

static void reg_op(struct machine *m, uint8_t op)
{
	struct cursor *c = &m->c;
	uint64_t reg = cursor_varint(c);
	switch (op) {
	case DW_CFA_offset_extended: set_reg(m, reg, CFI_AT_CFA, scaled(m, cursor_varint(c))); break;
	case DW_CFA_GNU_negative_offset_extended: set_reg(m, reg, CFI_AT_CFA, scaled(m, -cursor_varint(c))); break;
	case DW_CFA_offset_extended_sf: set_reg(m, reg, CFI_AT_CFA, scaled(m, (uint64_t)read_sleb(c))); break;
	case DW_CFA_restore_extended: restore_reg(m, reg); break;
	case DW_CFA_undefined: set_reg(m, reg, CFI_UNDEFINED, 0); break;
	case DW_CFA_same_value: set_reg(m, reg, CFI_SAME, 0); break;
	case DW_CFA_expression: {
		struct cfi_reg at = expr_reg(read_block(c), m->run->cie->machine);
		set_reg(m, reg, at.kind, at.off);
		break;
	}
	case DW_CFA_val_expression:
		read_block(c);
		set_reg(m, reg, CFI_ODD, 0);
		break;
	default: /* in another register, or CFA + offset as a value */ cursor_varint(c); set_reg(m, reg, CFI_ODD, 0);
	}
}

static int extended_op(struct machine *m, uint8_t op)
{
	/* What is signed or not is not followed: the walk strips signatures from all return addresses. */
	if (op == m->run->cie->machine->signs)
		return 0;
	switch (op) {
	case DW_CFA_set_loc: return move_to(m, cfi_pointer(&m->c, m->run->cie->ptr_enc, m->run->base));
	case DW_CFA_advance_loc1: return advance(m, cursor_le(&m->c, 1));
	case DW_CFA_advance_loc2: return advance(m, cursor_le(&m->c, 2));
	case DW_CFA_advance_loc4: return advance(m, cursor_le(&m->c, 4));
	case DW_CFA_remember_state: return keep(m);
	case DW_CFA_restore_state: return unkeep(m);
	case DW_CFA_GNU_args_size: cursor_varint(&m->c); return 0;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_expression:
	case DW_CFA_def_cfa_sf ... DW_CFA_def_cfa_offset_sf: cfa_op(m, op); return 0;
	case DW_CFA_offset_extended ... DW_CFA_register:
	case DW_CFA_expression:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_val_offset ... DW_CFA_val_expression:
	case DW_CFA_GNU_negative_offset_extended: reg_op(m, op); return 0;
	default: return -EBADMSG;
	}
}

static int one_op(struct machine *m)
{
	uint8_t op = cursor_u8(&m->c), low = op & 0x3f;
	/* The most frequent opcodes outside the upper two bits: handled first, which saves a tenth of the time. */
	if (op == DW_CFA_nop)
		return 0;
	if (op == DW_CFA_def_cfa_offset) {
		def_offset(m, (int64_t)cursor_varint(&m->c));
		return 0;
	}
	switch (op & 0xc0) {
	case DW_CFA_advance_loc: return advance(m, low);
	case DW_CFA_offset: set_reg(m, low, CFI_AT_CFA, scaled(m, cursor_varint(&m->c))); return 0;
	case DW_CFA_restore: restore_reg(m, low); return 0;
	default: return extended_op(m, op);
	}
}

int cfi_run(const struct cfi_run *r, struct cursor program, struct cfi_state *state)
{
	struct machine m; /* not zeroed as a whole: `kept` would cost more than most programs */
	m.run = r;
	m.c = program;
	m.s = state;
	m.loc = r->lo;
	m.kept_cnt = 0;
	while (cursor_left(&m.c)) {
		int rc = one_op(&m);
		if (rc)
			return rc;
	}
	if (m.c.bad)
		return -EBADMSG;
	return r->emit && m.loc < r->hi ? r->emit(r->ctx, m.loc, state) : 0;
}

static bool fits_s32(int64_t v)
{
	return v == (int32_t)v;
}

bool cfi_spec(const struct cfi_state *s, int32_t ra_off, struct alys_spec *out)
{
	static const uint8_t bp_kind[] = {
		[CFI_SAME] = ALYS_SPEC_BP_SAME,   [CFI_UNDEFINED] = ALYS_SPEC_BP_SAME, [CFI_AT_CFA] = ALYS_SPEC_BP_AT_CFA,
		[CFI_AT_BP] = ALYS_SPEC_BP_AT_BP, [CFI_AT_SP] = ALYS_SPEC_BP_AT_SP,
	};
	if (!fits_s32(s->cfa.off) || !fits_s32(s->cfa.add) || !fits_s32(s->bp.off))
		return false;
	*out = (struct alys_spec){
		.off = (int32_t)s->cfa.off,
		.add = (int32_t)s->cfa.add,
		.bp_off = (int32_t)s->bp.off,
		.ra_off = ra_off,
		.base_bp = s->cfa.kind == CFI_CFA_BP,
		.deref = s->cfa.deref,
		.bp = bp_kind[s->bp.kind],
	};
	return true;
}

bool cfi_plain(const struct cfi_state *s, uint32_t *row)
{
	uint64_t words = (uint64_t)s->cfa.off / 8, slot = 0;
	if (s->cfa.deref || s->cfa.off < 0 || s->cfa.off % 8 || words > ALYS_ROW_CFA_MAX)
		return false;
	if (s->bp.kind == CFI_AT_CFA) {
		if (s->bp.off > -16 || s->bp.off % 8 || s->bp.off < -8 * (int64_t)(ALYS_ROW_SLOT_MAX + 1))
			return false;
		slot = (uint64_t)-s->bp.off / 8 - 1;
	} else if (s->bp.kind > CFI_UNDEFINED) {
		return false;
	}
	*row = (s->cfa.kind == CFI_CFA_BP ? ALYS_ROW_BP : 0) | (uint32_t)words << ALYS_ROW_CFA_SHIFT | (uint32_t)slot;
	return true;
}

const struct cfi_machine *cfi_machine_of(uint64_t elf)
{
	return elf == cfi_amd64.elf ? &cfi_amd64 : elf == cfi_arm64.elf ? &cfi_arm64 : NULL;
}
