/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code/decode of aarch64. Where control goes and what a probe costs is read from the encoding (Arm Architecture Reference Manual,
 * C4.1), because the kernel does so (arch/arm64/kernel/probes/decode-insn.c); which registers an instruction overwrites,
 * Capstone knows. What it does not know is taken to overwrite all that its fields name, and is not probed.
 */
#include "code/decode.h"

#include <string.h>

#include <capstone/capstone.h>

#define LEN 4
#define FP 29
#define LINK 30
#define SP 31 /* or the zero register, by the instruction */

/* AAPCS64 6.1.1: x19 to x29 survive a call. A thread sets its pointer (tpidr_el0) itself; the kernel learns of it at the next switch. */
const struct insn_machine insn_machine = {
	.data = ~INSN_BIT(SP),
	.call_keeps = 0x3ff80000u,
	.args = { 0, 1, 2, 3, 4, 5 },
	.result = 0,
	.readable = FP,
	.link = LINK,
	.entry_cfa = 0,
	.sp = SP,
	.cheap_ret = true,
	.thread_known = false,
};

struct word {
	uint32_t mask, value;
};

#define IS(w, m, v) (((w) & (m)) == (v))

static unsigned int bits(uint32_t w, int from, int n)
{
	return w >> from & ((1u << n) - 1);
}

static int64_t signed_bits(uint32_t w, int from, int n)
{
	return (int64_t)((uint64_t)bits(w, from, n) << (64 - n)) >> (64 - n);
}

static bool is_any(uint32_t w, const struct word *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (IS(w, words[i].mask, words[i].value))
			return true;
	return false;
}

static bool is_branch_class(uint32_t w)
{
	return IS(w, 0x1c000000, 0x14000000);
}

static bool is_load_store(uint32_t w)
{
	return IS(w, 0x0a000000, 0x08000000);
}

static bool is_test_branch(uint32_t w)
{
	return IS(w, 0x7e000000, 0x34000000) || IS(w, 0x7e000000, 0x36000000);
}

/*
 * Emulated, by all kernels: b, bl, b.cond, cbz and its like, tbz and its like, br, blr, ret, adr, adrp. Newer ones emulate nop, too. ldr
 * of a literal was emulated until 6.12, wrongly. What would see that it is elsewhere, or raises an exception, is refused: loads of literals, exclusive
 * loads and stores, memory copies (cpy, set), system registers that are written, hints that are none of those below, branches that
 * authenticate.
 */
static enum insn_cost probe_cost(uint32_t w)
{
	static const struct word emulated[] = {
		{ 0x7c000000, 0x14000000 }, { 0xff000010, 0x54000000 }, { 0x7e000000, 0x34000000 }, { 0x7e000000, 0x36000000 },
		{ 0xfffffc1f, 0xd61f0000 }, { 0xfffffc1f, 0xd63f0000 }, { 0xfffffc1f, 0xd65f0000 }, { 0x1f000000, 0x10000000 },
	};
	/* nop, xpaclri, pacia1716, pacib1716, paciaz, paciasp, pacibz, pacibsp, bti. */
	static const struct word hints[] = {
		{ 0xffffffff, 0xd503201f }, { 0xffffffff, 0xd50320ff }, { 0xffffffbf, 0xd503211f },
		{ 0xffffff9f, 0xd503231f }, { 0xffffff3f, 0xd503241f },
	};
	static const struct word barriers[] = { { 0xfffff000, 0xd5033000 }, { 0xfff00000, 0xd5300000 } }; /* and mrs */
	static const struct word refused[] = { { 0x3b000000, 0x18000000 },
					       { 0x3f000000, 0x08000000 },
					       { 0x3b200c00, 0x19000400 } };
	if (is_any(w, emulated, sizeof(emulated) / sizeof(*emulated)))
		return INSN_EMULATED;
	if (is_branch_class(w))
		return is_any(w, hints, sizeof(hints) / sizeof(*hints)) ||
				       is_any(w, barriers, sizeof(barriers) / sizeof(*barriers))
			       ? INSN_STEPPED
			       : INSN_REFUSED;
	return is_any(w, refused, sizeof(refused) / sizeof(*refused)) ? INSN_REFUSED : INSN_STEPPED;
}

/* br, blr, ret, and those that authenticate the address first. */
static enum insn_flow register_branch(uint32_t w)
{
	switch (bits(w, 21, 3)) {
	case 0: return INSN_INDIRECT;
	case 1: return INSN_CALL;
	/* A return that cannot be probed is a way out that is not followed. */
	case 2: return probe_cost(w) == INSN_REFUSED ? INSN_INDIRECT : INSN_RETURN;
	default: return INSN_STOP;
	}
}

static void set_flow(uint32_t w, struct insn *out)
{
	if (IS(w, 0x7c000000, 0x14000000)) {
		out->flow = w >> 31 ? INSN_CALL : INSN_JUMP;
		out->target = out->vaddr + (uint64_t)(signed_bits(w, 0, 26) * LEN);
	} else if (IS(w, 0xff000000, 0x54000000)) {
		bool always = bits(w, 0, 4) >= 14;
		out->flow = always ? INSN_JUMP : INSN_BRANCH;
		out->target = out->vaddr + (uint64_t)(signed_bits(w, 5, 19) * LEN);
		if (bits(w, 0, 4) < 2)
			out->when = bits(w, 0, 1) ? INSN_IF_NONZERO : INSN_IF_ZERO;
	} else if (is_test_branch(w)) {
		bool one_bit = bits(w, 25, 1);
		out->flow = INSN_BRANCH;
		out->target = out->vaddr + (uint64_t)(signed_bits(w, 5, one_bit ? 14 : 19) * LEN);
		if (!one_bit && w >> 31) {
			out->when = bits(w, 24, 1) ? INSN_IF_NONZERO : INSN_IF_ZERO;
			out->tests = (int8_t)bits(w, 0, 5);
		}
	} else if (IS(w, 0xfe000000, 0xd6000000)) {
		out->flow = register_branch(w);
	} else if (IS(w, 0xffff0000, 0) || (IS(w, 0xff000000, 0xd4000000) && !IS(w, 0xffe0001f, 0xd4000001))) {
		/* udf, brk, hlt and what belongs to debuggers, but not svc. */
		out->flow = INSN_STOP;
	}
}

/* Register rd = rn + delta: add and sub of a constant, by which sp is copied, too. */
static bool is_sum(uint32_t w, int32_t *delta)
{
	if (!IS(w, 0xbf800000, 0x91000000))
		return false;
	int32_t by = (int32_t)bits(w, 10, 12) << (bits(w, 22, 1) ? 12 : 0);
	*delta = bits(w, 30, 1) ? -by : by;
	return true;
}

/* A load or store that moves its base register: by how much. */
static bool moves_base(uint32_t w, int32_t *delta)
{
	if (IS(w, 0x3a800000, 0x28800000)) {
		unsigned int opc = bits(w, 30, 2), scale = bits(w, 26, 1) ? 2 + opc : opc == 2 ? 3 : 2;
		*delta = (int32_t)signed_bits(w, 15, 7) * (1 << scale);
		return true;
	}
	*delta = (int32_t)signed_bits(w, 12, 9);
	return IS(w, 0x3b200400, 0x38000400);
}

static void set_stack(uint32_t w, struct insn *out)
{
	int32_t delta;
	unsigned int rn = bits(w, 5, 5);
	if (out->writes & INSN_BIT(SP)) {
		out->stack = INSN_SP_LOST;
		if (is_sum(w, &delta) && (rn == SP || rn == FP))
			out->stack = rn == SP ? INSN_SP_ADD : INSN_SP_FROM_BP;
		else if (rn == SP && moves_base(w, &delta))
			out->stack = INSN_SP_ADD;
		out->sp_delta = out->stack == INSN_SP_LOST ? 0 : delta;
	}
	if (out->writes & INSN_BIT(FP)) {
		bool from_sp = is_sum(w, &delta) && rn == SP;
		out->frame = from_sp ? INSN_BP_FROM_SP : INSN_BP_LOST;
		out->bp_delta = from_sp ? delta : 0;
	}
}

/* stp x29, x30, [sp, #imm], also with `!`: the frame record of AAPCS64 6.4.6. */
static void set_record(uint32_t w, struct insn *out)
{
	out->records = IS(w, 0xff407fff, 0xa9007bfd);
	out->record_delta = out->records ? (int32_t)signed_bits(w, 15, 7) * 8 : 0;
}

static void set_values(uint32_t w, struct insn *out)
{
	bool moves = IS(w, 0x7fe0ffe0, 0x2a0003e0), wide = w >> 31;
	int8_t rd = (int8_t)bits(w, 0, 5), rm = (int8_t)bits(w, 16, 5);
	if (moves && rd != SP && rm != SP) {
		out->low_to = rd;
		out->low_from = rm;
		out->copy_to = wide ? rd : INSN_NO_REG;
		out->copy_from = wide ? rm : INSN_NO_REG;
	}
	if (rd != SP && ((moves && rm == SP) || IS(w, 0x7fffffe0, 0x52800000)))
		out->zeroes = rd;
	if (IS(w, 0xfffffc1f, 0xf100001f))
		out->tests = (int8_t)bits(w, 5, 5);
}

/* mul and umulh, of 64 bits. */
static void set_product(uint32_t w, struct insn *out)
{
	out->high_half = IS(w, 0xffe0fc00, 0x9bc07c00);
	if (out->high_half || IS(w, 0xffe0fc00, 0x9b007c00))
		out->factors = (INSN_BIT(bits(w, 5, 5)) | INSN_BIT(bits(w, 16, 5))) & insn_machine.data;
}

static int reg_of(unsigned int reg)
{
	if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28)
		return (int)(reg - ARM64_REG_X0);
	if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W30)
		return (int)(reg - ARM64_REG_W0);
	switch (reg) {
	case ARM64_REG_X29: return FP;
	case ARM64_REG_X30: return LINK;
	case ARM64_REG_SP:
	case ARM64_REG_WSP: return SP;
	default: return INSN_NO_REG;
	}
}

/* All registers that its fields name: an instruction overwrites no others. 31 is sp as a destination and as a base. */
static insn_regs named(uint32_t w)
{
	insn_regs all = INSN_BIT(bits(w, 0, 5)) | INSN_BIT(bits(w, 5, 5)) | INSN_BIT(bits(w, 10, 5)) | INSN_BIT(bits(w, 16, 5));
	bool moves_sp = bits(w, 0, 5) == SP || (is_load_store(w) && bits(w, 5, 5) == SP);
	return moves_sp ? all : all & insn_machine.data;
}

/* Those of which Capstone says that they write what they compare. */
static bool only_compares(uint32_t w)
{
	static const struct word words[] = {
		{ 0x7f00001f, 0x7100001f }, { 0x7f00001f, 0x3100001f }, /* cmp, cmn of a constant */
		{ 0x7f00001f, 0x6b00001f }, { 0x7f00001f, 0x2b00001f }, /* of a register */
		{ 0x7f80001f, 0x7200001f }, { 0x7f00001f, 0x6a00001f }, /* tst */
		{ 0x3fe00000, 0x3a400000 },                             /* ccmp, ccmn */
	};
	return is_any(w, words, sizeof(words) / sizeof(*words));
}

/* To open Capstone takes three times as long as to decode an instruction: a thread does so once, and keeps it. */
struct decoder {
	csh handle;
	cs_insn *in;
};

static const struct decoder *decoder(void)
{
	static _Thread_local struct decoder d;
	if (d.in)
		return &d;
	if (cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &d.handle))
		return NULL;
	cs_option(d.handle, CS_OPT_DETAIL, CS_OPT_ON);
	d.in = cs_malloc(d.handle);
	if (!d.in)
		cs_close(&d.handle);
	return d.in ? &d : NULL;
}

static bool writes_of(const uint8_t *bytes, insn_regs *out)
{
	const struct decoder *d = decoder();
	cs_regs reads, writes;
	uint8_t reads_cnt, writes_cnt = 0;
	uint64_t address = 0;
	size_t n = LEN;
	if (!d || !cs_disasm_iter(d->handle, &bytes, &n, &address, d->in) ||
	    cs_regs_access(d->handle, d->in, reads, &reads_cnt, writes, &writes_cnt))
		return false;
	for (uint8_t i = 0; i < writes_cnt; i++) {
		int reg = reg_of(writes[i]);
		*out |= reg < 0 ? 0 : INSN_BIT(reg);
	}
	return true;
}

/* Stores of all classes and atomic operations, but those to the stack. */
static bool stores(uint32_t w)
{
	bool pair = IS(w, 0x3a000000, 0x28000000), atomic = IS(w, 0x3b200c00, 0x38200000),
	     exclusive = IS(w, 0x3f000000, 0x08000000);
	bool loads = pair || exclusive ? bits(w, 22, 1) : bits(w, 22, 2) || IS(w, 0x3b000000, 0x18000000);
	/* 128 bits of a vector are stored with the code of a signed load. */
	bool vector = bits(w, 26, 1) && !bits(w, 30, 2) && bits(w, 22, 2) == 2;
	return is_load_store(w) && (!loads || atomic || vector) && bits(w, 5, 5) != SP;
}

static bool is_hint(uint32_t w, unsigned int lo, unsigned int hi)
{
	return IS(w, 0xfffff01f, 0xd503201f) && bits(w, 5, 7) >= lo && bits(w, 5, 7) <= hi;
}

bool insn_decode(const uint8_t *bytes, size_t n, uint64_t vaddr, struct insn *out)
{
	uint32_t w;
	if (n < LEN || vaddr % LEN)
		return false;
	memcpy(&w, bytes, LEN);
	*out = (struct insn){
		.vaddr = vaddr,
		.len = LEN,
		.cost = probe_cost(w),
		.copy_to = INSN_NO_REG,
		.copy_from = INSN_NO_REG,
		.low_to = INSN_NO_REG,
		.low_from = INSN_NO_REG,
		.zeroes = INSN_NO_REG,
		.tests = INSN_NO_REG,
	};
	set_flow(w, out);
	set_values(w, out);
	if (!is_branch_class(w) && !only_compares(w) && !writes_of(bytes, &out->writes)) {
		out->writes = named(w);
		out->cost = INSN_REFUSED;
	}
	if (out->flow == INSN_CALL)
		out->writes |= INSN_BIT(LINK);
	if (IS(w, 0xfff00000, 0xd5300000) && bits(w, 0, 5) != SP) /* mrs */
		out->writes |= INSN_BIT(bits(w, 0, 5));
	if (IS(w, 0xffe0001f, 0xd4000001)) /* svc: the result of the system call */
		out->writes |= INSN_BIT(0);
	set_stack(w, out);
	set_record(w, out);
	set_product(w, out);
	out->stores = stores(w);
	out->padding = is_hint(w, 0, 0) || IS(w, 0xffff0000, 0);
	out->signs = is_hint(w, 24, 31);
	out->reserves = IS(w, 0x3f400000, 0x08400000) && !bits(w, 23, 1);
	return true;
}

/* --- data: where words lie, and what their addresses are made of ---------------------------------------------------- */

static int8_t general(unsigned int reg)
{
	return reg == SP ? INSN_NO_REG : (int8_t)reg;
}

/* cmp of a constant, or of a register, also where it depends on a condition (ccmp). */
void insn_constants(const uint8_t *bytes, size_t n, uint64_t vaddr, struct insn_constants *out)
{
	uint32_t w;
	(void)vaddr;
	*out = (struct insn_constants){ .with = INSN_NO_REG, .left = INSN_NO_REG };
	if (n < LEN)
		return;
	memcpy(&w, bytes, LEN);
	if (IS(w, 0x7fe0fc1f, 0x6b00001f) || IS(w, 0x7fe00c10, 0x7a400000))
		out->with = general(bits(w, 16, 5));
	out->compares = IS(w, 0x7f80001f, 0x7100001f);
	out->imm = out->compares ? (uint64_t)bits(w, 10, 12) << (bits(w, 22, 1) ? 12 : 0) : 0;
}

/* ldr and str of 1, 2, 4 or 8 bytes, [base + disp], without moving the base: how many bytes; 0 = none. */
static uint8_t plain_access(uint32_t w, bool *loads, int32_t *disp)
{
	unsigned int scale = bits(w, 30, 2);
	bool scaled = IS(w, 0x3f800000, 0x39000000), plain = IS(w, 0x3fa00c00, 0x38000000);
	*loads = bits(w, 22, 1);
	*disp = scaled ? (int32_t)(bits(w, 10, 12) << scale) : (int32_t)signed_bits(w, 12, 9);
	return scaled || plain ? (uint8_t)(1u << scale) : 0;
}

static enum insn_word word_access(uint32_t w, struct insn_use *out)
{
	int32_t disp;
	bool loads;
	if (plain_access(w, &loads, &disp) != 8)
		return INSN_OTHER;
	out->reg = general(bits(w, 0, 5));
	out->base = (int8_t)bits(w, 5, 5);
	out->disp = disp;
	return loads ? INSN_LOADS : INSN_STORES;
}

void insn_use_of(const uint8_t *bytes, size_t n, uint64_t vaddr, struct insn_use *out)
{
	uint32_t w;
	int32_t delta;
	(void)vaddr;
	*out = (struct insn_use){ .reg = INSN_NO_REG, .from = INSN_NO_REG, .base = INSN_NO_REG };
	if (n < LEN)
		return;
	memcpy(&w, bytes, LEN);
	out->does = word_access(w, out);
	if (is_sum(w, &delta) && delta == 1) {
		out->does = INSN_PLUS_1;
		out->reg = general(bits(w, 0, 5));
		out->from = general(bits(w, 5, 5));
	}
}

/* add of two registers. */
static bool is_register_sum(uint32_t w)
{
	return IS(w, 0xffe0fc00, 0x8b000000);
}

void insn_load_of(const uint8_t *bytes, size_t n, uint64_t vaddr, struct insn_load *out)
{
	struct insn_use u;
	uint32_t w;
	insn_use_of(bytes, n, vaddr, &u);
	*out = (struct insn_load){ .loads = u.does == INSN_LOADS && u.reg >= 0, .reg = u.reg, .base = u.base, .disp = u.disp };
	if (n < LEN)
		return;
	memcpy(&w, bytes, LEN);
	out->sums = is_register_sum(w) && bits(w, 0, 5) != SP && bits(w, 5, 5) != SP && bits(w, 16, 5) != SP;
	if (out->sums) {
		out->reg = (int8_t)bits(w, 0, 5);
		out->of[0] = (int8_t)bits(w, 5, 5);
		out->of[1] = (int8_t)bits(w, 16, 5);
	}
}

/* adr and adrp. */
static uint64_t page_address(uint32_t w, uint64_t vaddr)
{
	uint64_t by = (uint64_t)signed_bits(w, 5, 19) << 2 | bits(w, 29, 2);
	return w >> 31 ? (vaddr & ~0xfffull) + (by << 12) : vaddr + by;
}

/* movz, and movk beside what is there. */
static struct insn_value moved(uint32_t w, struct insn_value was)
{
	unsigned int shift = bits(w, 21, 2) * 16;
	uint64_t part = (uint64_t)bits(w, 5, 16) << shift;
	if (IS(w, 0x7f800000, 0x52800000))
		return (struct insn_value){ INSN_NUMBER, part };
	if (was.origin != INSN_NUMBER)
		return (struct insn_value){ 0 };
	return (struct insn_value){ INSN_NUMBER, (was.value & ~(0xffffull << shift)) | part };
}

/* Of the thread pointer and a distance from it. */
static struct insn_value thread_sum(struct insn_value thread, struct insn_value by)
{
	if (thread.origin == INSN_THREAD && by.origin == INSN_NUMBER)
		return (struct insn_value){ INSN_THREAD, thread.value + by.value };
	if (thread.origin == INSN_THREAD && !thread.value && by.origin == INSN_TLS_BY)
		return (struct insn_value){ INSN_THREAD_BY, by.value };
	return (struct insn_value){ 0 };
}

static struct insn_value sum_of(const struct insn_known *k, uint32_t w)
{
	struct insn_value a = k->of[bits(w, 5, 5)], b = k->of[bits(w, 16, 5)];
	return a.origin == INSN_THREAD ? thread_sum(a, b) : thread_sum(b, a);
}

/* The value that an instruction, which is no call, puts into the register of its lowest bits. */
static struct insn_value value_made(const struct insn_known *k, uint32_t w, uint64_t vaddr)
{
	struct insn_use u = { 0 };
	struct insn_value was = k->of[bits(w, 0, 5)], from = k->of[bits(w, 5, 5)];
	uint64_t address;
	int32_t delta;
	if (IS(w, 0x1f000000, 0x10000000))
		return (struct insn_value){ INSN_NUMBER, page_address(w, vaddr) };
	if (IS(w, 0x7f800000, 0x52800000) || IS(w, 0xff800000, 0xf2800000))
		return moved(w, was);
	if (IS(w, 0xffff03e0, 0xb24003e0)) /* mov of a number whose lowest bits are set (orr) */
		return (struct insn_value){ INSN_NUMBER, ~0ull >> (63 - bits(w, 10, 6)) };
	if (IS(w, 0xffffffe0, 0xd53bd040)) /* mrs, tpidr_el0 */
		return (struct insn_value){ INSN_THREAD, 0 };
	if (IS(w, 0xffe0ffe0, 0xaa0003e0)) /* mov */
		return k->of[bits(w, 16, 5)];
	if (is_register_sum(w))
		return sum_of(k, w);
	if (is_sum(w, &delta) && (from.origin == INSN_NUMBER || from.origin == INSN_THREAD))
		return (struct insn_value){ from.origin, from.value + (uint64_t)(int64_t)delta };
	if (word_access(w, &u) == INSN_LOADS && insn_address(k, u.base, u.disp, &address))
		return (struct insn_value){ INSN_WORD_AT, address };
	return (struct insn_value){ 0 };
}

/* A TLS descriptor's function gets its address in x0 and returns the distance there; it keeps all else (AAELF64 8.4). */
static bool asks_descriptor(const struct insn_known *k, uint32_t w)
{
	struct insn_value of = k->of[0], by = k->of[bits(w, 5, 5)];
	return IS(w, 0xfffffc1f, 0xd63f0000) && of.origin == INSN_NUMBER && by.origin == INSN_WORD_AT && of.value == by.value;
}

static void forget(struct insn_known *k, insn_regs regs)
{
	for (int i = 0; i < INSN_REGS; i++) {
		if (regs & INSN_BIT(i))
			k->of[i].origin = INSN_UNKNOWN;
	}
}

bool insn_know(struct insn_known *k, const uint8_t *bytes, const struct insn *in)
{
	uint32_t w;
	memcpy(&w, bytes, LEN);
	if (asks_descriptor(k, w)) {
		k->of[0].origin = INSN_TLS_BY;
		forget(k, INSN_BIT(LINK));
		return false;
	}
	if (in->flow == INSN_CALL) {
		forget(k, ~insn_machine.call_keeps);
		return false;
	}
	unsigned int to = bits(w, 0, 5);
	struct insn_value made = value_made(k, w, in->vaddr);
	forget(k, in->writes);
	if (to == SP || !made.origin)
		return false;
	k->of[to] = made;
	return true;
}

void insn_tls_of(const uint8_t *bytes, size_t n, const struct insn_known *k, struct insn_tls *out)
{
	struct insn_use u = { 0 };
	struct insn_value at = { 0 };
	uint32_t w;
	*out = (struct insn_tls){ 0 };
	if (n < LEN)
		return;
	memcpy(&w, bytes, LEN);
	if (IS(w, 0xffe0fc00, 0xf8606800)) /* ldr [register + register] */
		at = sum_of(k, w);
	else if (word_access(w, &u) == INSN_LOADS)
		at = k->of[u.base];
	bool by = at.origin == INSN_THREAD_BY && !u.disp;
	out->loads = at.origin == INSN_THREAD || by;
	out->offset = out->loads && !by ? (int64_t)at.value + u.disp : 0;
	out->descriptor = by ? at.value : 0;
}

/* ldp and stp of 64 bits, [base + disp], without moving the base. */
static bool is_pair_access(uint32_t w)
{
	return IS(w, 0xff800000, 0xa9000000);
}

static size_t pair_moves(uint32_t w, struct insn_move out[INSN_MOVES])
{
	bool loads = bits(w, 22, 1);
	for (int i = 0; i < INSN_MOVES; i++) {
		int8_t reg = general(bits(w, i ? 10 : 0, 5));
		out[i] = (struct insn_move){
			.does = loads ? INSN_COPIES : INSN_PUTS,
			.to = loads ? reg : INSN_NO_REG,
			.left = INSN_NO_REG,
			.from = loads ? INSN_NO_REG : reg,
			.base = (int8_t)bits(w, 5, 5),
			.disp = (int32_t)signed_bits(w, 15, 7) * 8 + i * 8,
		};
	}
	return INSN_MOVES;
}

/* mov, add and sub of registers, asr by a constant. */
static enum insn_does computes(uint32_t w, struct insn_move *out)
{
	out->to = general(bits(w, 0, 5));
	out->left = general(bits(w, 5, 5));
	out->from = general(bits(w, 16, 5));
	if (IS(w, 0xffe0ffe0, 0xaa0003e0))
		return INSN_COPIES;
	if (is_register_sum(w))
		return INSN_ADDS;
	if (IS(w, 0xffe0fc00, 0xcb000000))
		return INSN_SUBTRACTS;
	out->from = INSN_NO_REG;
	out->bits = (uint8_t)bits(w, 16, 6);
	return IS(w, 0xffc0fc00, 0x9340fc00) ? INSN_SHIFTS : INSN_NO_MOVE;
}

size_t insn_moves_of(const uint8_t *bytes, size_t n, struct insn_move out[INSN_MOVES])
{
	struct insn_use u = { 0 };
	uint32_t w;
	*out = (struct insn_move){ .to = INSN_NO_REG, .left = INSN_NO_REG, .from = INSN_NO_REG, .base = INSN_NO_REG };
	if (n < LEN)
		return 0;
	memcpy(&w, bytes, LEN);
	if (is_pair_access(w))
		return pair_moves(w, out);
	enum insn_word word = word_access(w, &u);
	if (word == INSN_OTHER) {
		out->does = computes(w, out);
		return out->does != INSN_NO_MOVE;
	}
	out->does = word == INSN_LOADS ? INSN_COPIES : INSN_PUTS;
	*(word == INSN_LOADS ? &out->to : &out->from) = u.reg;
	out->base = u.base;
	out->disp = (int32_t)u.disp;
	return 1;
}

/* Without an index, and of no thread's data. An address is a sum with a constant. */
void insn_fetch_of(const uint8_t *bytes, size_t n, uint64_t vaddr, struct insn_fetch *out)
{
	int32_t disp;
	uint32_t w;
	(void)vaddr;
	*out = (struct insn_fetch){ .reg = INSN_NO_REG, .base = INSN_NO_REG, .index = INSN_NO_REG };
	if (n < LEN)
		return;
	memcpy(&w, bytes, LEN);
	out->bytes = plain_access(w, &out->fetches, &disp);
	out->fetches = (out->fetches && out->bytes) || is_sum(w, &disp);
	if (!out->fetches)
		return;
	out->reg = general(bits(w, 0, 5));
	out->base = (int8_t)bits(w, 5, 5);
	out->disp = disp;
}

void insn_put_of(const uint8_t *bytes, size_t n, struct insn_put *out)
{
	bool loads;
	uint32_t w;
	*out = (struct insn_put){ .from = INSN_NO_REG, .base = INSN_NO_REG };
	if (n < LEN)
		return;
	memcpy(&w, bytes, LEN);
	out->bytes = plain_access(w, &loads, &out->disp);
	if (loads)
		out->bytes = 0;
	out->from = general(bits(w, 0, 5));
	out->base = (int8_t)bits(w, 5, 5);
}

/* Compilers store two words at once by stp: what vector registers hold is not followed. */
void insn_pair_of(const uint8_t *bytes, size_t n, struct insn_pair *out)
{
	(void)bytes, (void)n;
	*out = (struct insn_pair){ .to = INSN_NO_REG, .from = INSN_NO_REG, .base = INSN_NO_REG };
}
