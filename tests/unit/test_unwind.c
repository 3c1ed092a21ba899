/* SPDX-License-Identifier: Apache-2.0 */
/* unwind: hand-made sections: each kind of row, page borders, and damage that must be refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <sys/auxv.h>

#include "base/buf.h"
#include "unwind/unwind.h"

#define EH_VADDR 0x900000
#define TEXT 0x10000
#define TEXT_END 0x40000

/* CFA = rsp + 8, RA at CFA - 8, and room to 4-byte alignment. */
static const uint8_t usual[] = { DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1, 0, 0 };

static void put_entry(struct buf *b, const struct buf *body)
{
	buf_le(b, body->len, 4);
	buf_add(b, body->data, body->len);
}

static void put_cie_of(struct buf *b, const char *aug, uint8_t code_align, uint8_t ra, const void *program, size_t n)
{
	struct buf body = { 0 };
	buf_le(&body, 0, 4);
	buf_u8(&body, 1);
	buf_add(&body, aug, strlen(aug) + 1);
	buf_u8(&body, code_align);
	buf_u8(&body, 0x78); /* data alignment -8 */
	buf_u8(&body, ra);
	buf_u8(&body, 1);
	buf_u8(&body, DW_EH_PE_pcrel | DW_EH_PE_sdata4);
	buf_add(&body, program, n);
	put_entry(b, &body);
	buf_free(&body);
}

static void put_cie(struct buf *b, const char *aug, const void *program, size_t n)
{
	put_cie_of(b, aug, 1, 16, program, n);
}

static void put_fde_of(struct buf *b, size_t cie_at, uint64_t lo, uint64_t n, const void *program, size_t program_n)
{
	struct buf body = { 0 };
	buf_le(&body, b->len + 4 - cie_at, 4);
	buf_le(&body, (uint32_t)(lo - (EH_VADDR + b->len + 8)), 4);
	buf_le(&body, n, 4);
	buf_u8(&body, 0);
	buf_add(&body, program, program_n);
	put_entry(b, &body);
	buf_free(&body);
}

static void put_fde(struct buf *b, uint64_t lo, uint64_t n, const void *program, size_t program_n)
{
	put_fde_of(b, 0, lo, n, program, program_n);
}

#define PUT_FDE(b, lo, n, ...) put_fde(b, lo, n, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static struct unwind_table *compile(const struct buf *b, struct err *err)
{
	struct unwind_section s = { b->data, b->len, EH_VADDR, TEXT, TEXT_END, EM_X86_64 };
	return unwind_compile_section(&s, err);
}

static struct unwind_table *compile_ok(struct buf *b)
{
	struct err err = { 0 };
	struct unwind_table *t = compile(b, &err);
	if (!t)
		fail_msg("refused: %s", err.text);
	buf_free(b);
	return t;
}

static void refused(struct buf *b, int code)
{
	struct err err = { 0 };
	struct unwind_table *t = compile(b, &err);
	assert_null(t);
	assert_int_equal(err.code, code);
	assert_true(err.text[0]);
	buf_free(b);
}

static void assert_rule(const struct unwind_table *t, uint64_t pc, bool bp, int32_t off, uint8_t bp_rule, int32_t bp_off)
{
	struct unwind_row r;
	assert_true(unwind_row_at(t, pc, &r));
	assert_int_equal(r.kind, ALYS_ROW_SPEC);
	assert_int_equal(r.rule.base_bp, bp);
	assert_int_equal(r.rule.off, off);
	assert_int_equal(r.rule.bp, bp_rule);
	assert_int_equal(r.rule.bp_off, bp_off);
	assert_int_equal(r.rule.deref, 0);
}

static void assert_kind(const struct unwind_table *t, uint64_t pc, uint8_t kind)
{
	struct unwind_row r;
	unwind_row_at(t, pc, &r);
	assert_int_equal(r.kind, kind);
}

static void test_frame_pointer_prologue(void **state)
{
	(void)state;
	struct buf b = { 0 };
	put_cie(&b, "zR", usual, sizeof(usual));
	PUT_FDE(&b, TEXT, 64, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 6, 2, DW_CFA_advance_loc | 3,
		DW_CFA_def_cfa_register, 6, DW_CFA_advance_loc | 40, DW_CFA_def_cfa, 7, 8, DW_CFA_restore | 6);
	struct unwind_table *t = compile_ok(&b);
	assert_rule(t, TEXT, false, 8, ALYS_SPEC_BP_SAME, 0);
	assert_rule(t, TEXT + 1, false, 16, ALYS_SPEC_BP_AT_CFA, -16);
	assert_rule(t, TEXT + 3, false, 16, ALYS_SPEC_BP_AT_CFA, -16);
	assert_rule(t, TEXT + 4, true, 16, ALYS_SPEC_BP_AT_CFA, -16);
	assert_rule(t, TEXT + 43, true, 16, ALYS_SPEC_BP_AT_CFA, -16);
	assert_rule(t, TEXT + 44, false, 8, ALYS_SPEC_BP_SAME, 0);
	assert_kind(t, TEXT + 64, ALYS_ROW_NONE);
	assert_int_equal(t->specs_cnt, 0);
	struct unwind_row r;
	assert_false(unwind_row_at(t, TEXT - 1, &r));
	assert_false(unwind_row_at(t, TEXT_END, &r));
	unwind_free(t);
}

static void test_remember_and_far_advance(void **state)
{
	(void)state;
	struct buf b = { 0 };
	put_cie(&b, "zR", usual, sizeof(usual));
	PUT_FDE(&b, TEXT, 0x20000, DW_CFA_advance_loc1, 200, DW_CFA_def_cfa_offset, 0x80, 1, DW_CFA_remember_state,
		DW_CFA_advance_loc2, 0, 0x20, DW_CFA_def_cfa_offset, 8, DW_CFA_advance_loc4, 0, 0, 1, 0, DW_CFA_restore_state);
	struct unwind_table *t = compile_ok(&b);
	assert_rule(t, TEXT + 199, false, 8, ALYS_SPEC_BP_SAME, 0);
	assert_rule(t, TEXT + 200, false, 128, ALYS_SPEC_BP_SAME, 0);
	assert_rule(t, TEXT + 0x1fff, false, 128, ALYS_SPEC_BP_SAME, 0);
	assert_rule(t, TEXT + 200 + 0x2000, false, 8, ALYS_SPEC_BP_SAME, 0);
	assert_rule(t, TEXT + 0x8000, false, 8, ALYS_SPEC_BP_SAME, 0);
	assert_rule(t, TEXT + 0x1ffff, false, 128, ALYS_SPEC_BP_SAME, 0);
	/* Every page begins with a row, and the index is complete. */
	assert_int_equal(t->pages_cnt, 0x20);
	for (size_t i = 0; i < t->pages_cnt; i++) {
		assert_true(t->pages[i] < t->pages[i + 1]);
		assert_int_equal(t->rows[t->pages[i]] >> ALYS_ROW_PC_SHIFT, 0);
	}
	assert_int_equal(t->pages[t->pages_cnt], t->rows_cnt);
	unwind_free(t);
}

static void test_gaps(void **state)
{
	(void)state;
	struct buf b = { 0 };
	put_cie(&b, "zR", usual, sizeof(usual));
	PUT_FDE(&b, TEXT + 0x50, 0x10, DW_CFA_def_cfa_offset, 24); /* not in order: sorted */
	PUT_FDE(&b, TEXT, 0x18, DW_CFA_nop);
	PUT_FDE(&b, TEXT + 0x20, 0x10, DW_CFA_def_cfa_offset, 16);
	PUT_FDE(&b, TEXT_END - 8, 0x10, DW_CFA_nop); /* outside */
	PUT_FDE(&b, TEXT + 0x60, 0, DW_CFA_nop);     /* empty */
	struct unwind_table *t = compile_ok(&b);
	assert_kind(t, TEXT + 0x30, ALYS_ROW_NONE);
	assert_kind(t, TEXT + 0x4f, ALYS_ROW_NONE);
	assert_rule(t, TEXT + 0x50, false, 24, ALYS_SPEC_BP_SAME, 0);
	assert_kind(t, TEXT + 0x60, ALYS_ROW_NONE);
	assert_rule(t, TEXT + 0x19, false, 8, ALYS_SPEC_BP_SAME, 0); /* padding has no row */
	assert_int_equal(t->counts.fdes, 3);
	assert_int_equal(t->counts.outside, 1);
	unwind_free(t);
}

static void test_page_of_other_function(void **state)
{
	(void)state;
	struct buf b = { 0 };
	put_cie(&b, "zR", usual, sizeof(usual));
	PUT_FDE(&b, TEXT, 0x1000, DW_CFA_def_cfa_offset, 32);
	PUT_FDE(&b, TEXT + 0x1000, 0x1000, DW_CFA_def_cfa_offset, 48);
	PUT_FDE(&b, TEXT + 0x5000, 0x10, DW_CFA_def_cfa_offset, 64);
	struct unwind_table *t = compile_ok(&b);
	assert_rule(t, TEXT + 0xfff, false, 32, ALYS_SPEC_BP_SAME, 0);
	assert_rule(t, TEXT + 0x1000, false, 48, ALYS_SPEC_BP_SAME, 0);
	assert_kind(t, TEXT + 0x2000, ALYS_ROW_NONE);
	assert_kind(t, TEXT + 0x4fff, ALYS_ROW_NONE);
	assert_rule(t, TEXT + 0x5000, false, 64, ALYS_SPEC_BP_SAME, 0);
	unwind_free(t);
}

static void test_special_kinds(void **state)
{
	(void)state;
	struct buf b = { 0 };
	put_cie(&b, "zR", usual, sizeof(usual));
	PUT_FDE(&b, TEXT, 16, DW_CFA_undefined, 16);
	PUT_FDE(&b, TEXT + 16, 16, DW_CFA_def_cfa_expression, 11, DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and,
		DW_OP_lit11, DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus);
	PUT_FDE(&b, TEXT + 32, 16, DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78, DW_OP_deref, DW_CFA_expression, 6, 2,
		DW_OP_breg6, 0);
	PUT_FDE(&b, TEXT + 48, 16, DW_CFA_def_cfa, 10, 0);                /* r10 */
	PUT_FDE(&b, TEXT + 64, 16, DW_CFA_register, 16, 0);               /* return address in rax */
	PUT_FDE(&b, TEXT + 80, 16, DW_CFA_def_cfa_offset, 0x80, 0x80, 4); /* 64 KB: too big for a row */
	PUT_FDE(&b, TEXT + 96, 16, DW_CFA_register, 6, 3);                /* rbp in rbx */
	struct unwind_table *t = compile_ok(&b);
	struct unwind_row r;
	assert_kind(t, TEXT, ALYS_ROW_END);
	assert_true(unwind_row_at(t, TEXT + 16, &r));
	assert_int_equal(r.kind, ALYS_ROW_PLT);
	assert_int_equal(r.aux, 11);
	assert_true(unwind_row_at(t, TEXT + 32, &r));
	assert_int_equal(r.kind, ALYS_ROW_SPEC);
	assert_true(r.rule.deref && r.rule.base_bp && r.rule.off == -8 && r.rule.bp == ALYS_SPEC_BP_AT_BP && r.rule.bp_off == 0);
	unwind_row_at(t, TEXT + 48, &r);
	assert_true(r.kind == ALYS_ROW_UNSUPPORTED && r.aux == ALYS_ROW_WHY_CFA);
	unwind_row_at(t, TEXT + 64, &r);
	assert_true(r.kind == ALYS_ROW_UNSUPPORTED && r.aux == ALYS_ROW_WHY_RA);
	assert_rule(t, TEXT + 80, false, 65536, ALYS_SPEC_BP_SAME, 0);
	unwind_row_at(t, TEXT + 96, &r);
	assert_true(r.kind == ALYS_ROW_UNSUPPORTED && r.aux == ALYS_ROW_WHY_BP);
	assert_int_equal(t->counts.unsupported[ALYS_ROW_WHY_CFA], 1);
	assert_int_equal(t->counts.end, 1);
	unwind_free(t);
}

/* glibc's rule for the frame that the kernel makes for a signal handler. */
static void test_signal_frame(void **state)
{
	(void)state;
	struct buf b = { 0 };
	put_cie(&b, "zRS", (uint8_t[]){ 0 }, 1);
	PUT_FDE(&b, TEXT, 16, DW_CFA_def_cfa_expression, 4, DW_OP_breg7, 0xa0, 1, DW_OP_deref, DW_CFA_expression, 6, 3,
		DW_OP_breg7, 0xf8, 0, DW_CFA_expression, 16, 3, DW_OP_breg7, 0xa8, 1);
	struct unwind_table *t = compile_ok(&b);
	assert_kind(t, TEXT, ALYS_ROW_SIGNAL);
	unwind_free(t);
}

static struct unwind_table *compile_arm64(struct buf *b)
{
	struct err err = { 0 };
	struct unwind_section s = { b->data, b->len, EH_VADDR, TEXT, TEXT_END, EM_AARCH64 };
	struct unwind_table *t = unwind_compile_section(&s, &err);
	if (!t)
		fail_msg("refused: %s", err.text);
	buf_free(b);
	return t;
}

static void assert_return(const struct unwind_table *t, uint64_t pc, int32_t ra_off)
{
	struct unwind_row r;
	assert_true(unwind_row_at(t, pc, &r));
	assert_int_equal(r.rule.ra_off, ra_off);
}

/* CFA = sp + 0 and the return address in x30, signed; then both saved by a pair; then the CFA by x29. */
static void test_arm64_frame(void **state)
{
	(void)state;
	struct buf b = { 0 };
	put_cie_of(&b, "zRB", 4, 30, (uint8_t[]){ DW_CFA_def_cfa, 31, 0 }, 3);
	PUT_FDE(&b, TEXT, 64, DW_CFA_advance_loc | 1, 0x2d, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 32, DW_CFA_offset | 29,
		4, DW_CFA_offset | 30, 3, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_register, 29, DW_CFA_advance_loc | 8,
		DW_CFA_def_cfa, 31, 0, DW_CFA_restore | 29, DW_CFA_restore | 30, 0x2d);
	struct unwind_table *t = compile_arm64(&b);
	assert_int_equal(t->counts.plain, 4);
	for (uint64_t pc = TEXT; pc < TEXT + 48; pc += 4) {
		bool saved = pc >= TEXT + 8 && pc < TEXT + 44;
		assert_rule(t, pc, pc >= TEXT + 12 && saved, saved ? 32 : 0, saved ? ALYS_SPEC_BP_AT_CFA : ALYS_SPEC_BP_SAME,
			    saved ? -32 : 0);
		assert_return(t, pc, saved ? -24 : 0);
	}
	assert_int_equal(t->specs_cnt, 0);
	unwind_free(t);
}

/* The return address alone; not beside x29; in another register; nowhere. */
static void test_arm64_special_kinds(void **state)
{
	(void)state;
	struct buf b = { 0 };
	struct unwind_row r;
	put_cie_of(&b, "zR", 4, 30, (uint8_t[]){ DW_CFA_def_cfa, 31, 0 }, 3);
	PUT_FDE(&b, TEXT, 16, DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 30, 2);
	PUT_FDE(&b, TEXT + 16, 16, DW_CFA_def_cfa_offset, 48, DW_CFA_offset | 30, 1, DW_CFA_offset | 29, 6);
	PUT_FDE(&b, TEXT + 32, 16, DW_CFA_register, 30, 15);
	PUT_FDE(&b, TEXT + 48, 16, DW_CFA_undefined, 30);
	PUT_FDE(&b, TEXT + 64, 16, DW_CFA_def_cfa, 16, 0);
	struct unwind_table *t = compile_arm64(&b);
	assert_int_equal(t->specs_cnt, 2);
	assert_rule(t, TEXT, false, 16, ALYS_SPEC_BP_SAME, 0);
	assert_return(t, TEXT, -16);
	assert_rule(t, TEXT + 16, false, 48, ALYS_SPEC_BP_AT_CFA, -48);
	assert_return(t, TEXT + 16, -8);
	unwind_row_at(t, TEXT + 32, &r);
	assert_true(r.kind == ALYS_ROW_UNSUPPORTED && r.aux == ALYS_ROW_WHY_RA);
	assert_kind(t, TEXT + 48, ALYS_ROW_END);
	unwind_row_at(t, TEXT + 64, &r);
	assert_true(r.kind == ALYS_ROW_UNSUPPORTED && r.aux == ALYS_ROW_WHY_CFA);
	unwind_free(t);
}

/* glibc's lazy resolver: return address above the CFA, pushed by the PLT; later popped, which leaves it below sp. */
static void test_arm64_pushed_before(void **state)
{
	(void)state;
	struct buf b = { 0 };
	struct unwind_row r;
	put_cie_of(&b, "zR", 4, 30, (uint8_t[]){ DW_CFA_def_cfa, 31, 0 }, 3);
	PUT_FDE(&b, TEXT, 16, DW_CFA_offset_extended_sf, 30, 0x7f, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 0xd0, 1,
		DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset_sf, 2);
	struct unwind_table *t = compile_arm64(&b);
	assert_rule(t, TEXT, false, 16, ALYS_SPEC_BP_SAME, 0);
	assert_return(t, TEXT, -8);
	assert_rule(t, TEXT + 4, false, 224, ALYS_SPEC_BP_SAME, 0);
	assert_return(t, TEXT + 4, -8);
	unwind_row_at(t, TEXT + 8, &r);
	assert_true(r.kind == ALYS_ROW_UNSUPPORTED && r.aux == ALYS_ROW_WHY_RA);
	unwind_free(t);
}

/* Specs are shared by rows; a file with too many different ones does not grow the table for ever. */
static void test_specs_are_bounded(void **state)
{
	(void)state;
	struct buf b = { 0 };
	put_cie(&b, "zR", usual, sizeof(usual));
	for (unsigned int i = 0; i < 2000; i++)
		PUT_FDE(&b, TEXT + 16 * i, 16, DW_CFA_def_cfa_offset, 0x80 | (i / 2 & 0x7f), 0x80 | (i / 2 >> 7), 0x10);
	struct unwind_table *t = compile_ok(&b);
	assert_int_equal(t->specs_cnt, 256);
	assert_kind(t, TEXT + 1999 * 16, ALYS_ROW_UNSUPPORTED);
	assert_true(t->counts.unsupported[ALYS_ROW_WHY_FULL] > 0);
	struct unwind_row a, c;
	unwind_row_at(t, TEXT, &a);
	unwind_row_at(t, TEXT + 16, &c);
	assert_memory_equal(&a.rule, &c.rule, sizeof(a.rule));
	unwind_free(t);
}

static void test_overlap_is_refused(void **state)
{
	(void)state;
	struct buf b = { 0 };
	put_cie(&b, "zR", usual, sizeof(usual));
	PUT_FDE(&b, TEXT, 32, DW_CFA_nop);
	PUT_FDE(&b, TEXT + 31, 32, DW_CFA_nop);
	refused(&b, EBADMSG);
}

static void test_bad_programs_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		uint8_t n, program[6];
	} cases[] = {
		{ "advance behind the function's end", 3, { DW_CFA_advance_loc2, 0xff, 0xff } },
		{ "restore without remember", 1, { DW_CFA_restore_state } },
		{ "unknown instruction", 1, { 0x3f } },
		{ "cut operand", 2, { DW_CFA_def_cfa, 7 } },
		{ "cut LEB128", 3, { DW_CFA_def_cfa_offset, 0x80, 0x80 } },
		{ "block longer than the rest", 2, { DW_CFA_def_cfa_expression, 50 } },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf b = { 0 };
		put_cie(&b, "zR", usual, sizeof(usual));
		PUT_FDE(&b, TEXT, 32, DW_CFA_nop);
		put_fde(&b, TEXT + 32, 32, cases[i].program, cases[i].n);
		refused(&b, EBADMSG);
	}
}

static void test_remember_too_deep(void **state)
{
	(void)state;
	uint8_t program[17];
	memset(program, DW_CFA_remember_state, sizeof(program));
	struct buf b = { 0 };
	put_cie(&b, "zR", usual, sizeof(usual));
	put_fde(&b, TEXT, 32, program, sizeof(program));
	refused(&b, EBADMSG);
}

/* A section cut anywhere is refused whole, or (cut between entries) gives the entries before. */
static void test_every_cut(void **state)
{
	(void)state;
	struct buf b = { 0 };
	put_cie(&b, "zR", usual, sizeof(usual));
	size_t ends[3] = { b.len };
	for (int i = 0; i < 2; i++) {
		PUT_FDE(&b, TEXT + 32 * i, 32, DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset, 16);
		ends[i + 1] = b.len;
	}
	for (size_t n = 0; n < b.len; n++) {
		uint8_t *copy = malloc(n ? n : 1); /* exact, so that the sanitizer sees a read behind it */
		memcpy(copy, b.data, n);
		struct unwind_section s = { copy, n, EH_VADDR, TEXT, TEXT_END, EM_X86_64 };
		struct err err = { 0 };
		struct unwind_table *t = unwind_compile_section(&s, &err);
		assert_true(!!t == (n == ends[1]));
		assert_int_equal(err.code, t ? 0 : n == 0 || n == ends[0] ? ENODATA : EBADMSG);
		unwind_free(t);
		free(copy);
	}
	buf_free(&b);
}

static void test_bad_heads_are_refused(void **state)
{
	(void)state;
	struct buf b = { 0 };
	put_cie(&b, "zR", usual, sizeof(usual));
	put_fde_of(&b, 4, TEXT, 32, usual, 1); /* refers to no CIE */
	refused(&b, EBADMSG);
	put_cie(&b, "eh", usual, sizeof(usual));
	refused(&b, EBADMSG);
	put_cie(&b, "zR", (uint8_t[]){ DW_CFA_advance_loc | 1 }, 1); /* a CIE stands for no address */
	refused(&b, EBADMSG);
	put_cie(&b, "zR", usual, sizeof(usual));
	b.data[8] = 9; /* version */
	refused(&b, EBADMSG);
	put_cie(&b, "zR", usual, sizeof(usual));
	b.data[16] = DW_EH_PE_indirect | DW_EH_PE_textrel | DW_EH_PE_sdata4;
	PUT_FDE(&b, TEXT, 32, DW_CFA_nop);
	refused(&b, EBADMSG);
}

/* Letters that we do not know may mean anything: those functions have no rule, the others do. */
static void test_unknown_augmentation(void **state)
{
	(void)state;
	struct buf b = { 0 };
	put_cie(&b, "zR", usual, sizeof(usual));
	size_t second = b.len;
	put_cie(&b, "zRq", usual, sizeof(usual));
	PUT_FDE(&b, TEXT, 32, DW_CFA_nop);
	put_fde_of(&b, second, TEXT + 32, 32, usual, 1);
	struct unwind_table *t = compile_ok(&b);
	assert_rule(t, TEXT, false, 8, ALYS_SPEC_BP_SAME, 0);
	assert_kind(t, TEXT + 32, ALYS_ROW_UNSUPPORTED);
	unwind_free(t);
}

static void test_dump(void **state)
{
	(void)state;
	struct buf b = { 0 };
	put_cie(&b, "zR", usual, sizeof(usual));
	PUT_FDE(&b, TEXT, 32, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 6, 2);
	PUT_FDE(&b, TEXT + 32, 32, DW_CFA_undefined, 16);
	struct unwind_table *t = compile_ok(&b);
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	assert_int_equal(unwind_dump(t, f), 0);
	fclose(f);
	assert_non_null(strstr(text, "0000000000010000 rsp+8                u          c-8\n"));
	assert_non_null(strstr(text, "0000000000010001 rsp+16               c-16       c-8\n"));
	assert_non_null(strstr(text, "0000000000010020 (end of stack)\n0000000000010040 (none)\n"));
	assert_non_null(strstr(text, "4 rows, 24 bytes; from 2 FDEs, 0 for other code left out\n"));
	free(text);
	unwind_free(t);
}

static void test_vdso(void **state)
{
	(void)state;
	struct err err = { 0 };
	struct unwind_table *t = unwind_compile_vdso(&err);
	if (!t && !getauxval(AT_SYSINFO_EHDR))
		skip(); /* qemu emulates none */
	if (!t)
		fail_msg("%s", err.text);
	assert_true(t->counts.plain > 10 || t->counts.signal);
	unwind_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame_pointer_prologue),
		cmocka_unit_test(test_remember_and_far_advance),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_page_of_other_function),
		cmocka_unit_test(test_special_kinds),
		cmocka_unit_test(test_signal_frame),
		cmocka_unit_test(test_arm64_frame),
		cmocka_unit_test(test_arm64_special_kinds),
		cmocka_unit_test(test_arm64_pushed_before),
		cmocka_unit_test(test_specs_are_bounded),
		cmocka_unit_test(test_overlap_is_refused),
		cmocka_unit_test(test_bad_programs_are_refused),
		cmocka_unit_test(test_remember_too_deep),
		cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_bad_heads_are_refused),
		cmocka_unit_test(test_unknown_augmentation),
		cmocka_unit_test(test_dump),
		cmocka_unit_test(test_vdso),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
