/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code/decode of x86-64: converts Zydis' output to struct insn. The cost of a probe follows the Linux kernel's
 * arch/x86/kernel/uprobes.c (branch_setup_xol_ops, push_setup_xol_ops, is_prefix_bad).
 */
#include "code/decode.h"

#include <limits.h>
#include <string.h>

#include <Zydis/Zydis.h>

/* System V psABI 3.2: rbx, rbp, r12..r15 survive a call. */
const struct insn_machine insn_machine = {
	.data = 0xffffu & ~INSN_BIT(INSN_RSP),
	.call_keeps = 0xf028u,
	.args = { INSN_RDI, INSN_RSI, INSN_RDX, INSN_RCX, INSN_R8, INSN_R9 },
	.result = INSN_RAX,
	.readable = 5,
	.link = INSN_NO_REG,
	.entry_cfa = 8,
	.sp = INSN_RSP,
	.cheap_ret = false,
	.thread_known = true,
};

struct decoded {
	ZydisDecodedInstruction in;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	const uint8_t *bytes;
};

static int reg_of(ZydisRegister reg)
{
	ZydisRegister wide = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	if (ZydisRegisterGetClass(wide) != ZYDIS_REGCLASS_GPR64)
		return INSN_NO_REG;
	return ZydisRegisterGetId(wide);
}

static bool is_reg(const ZydisDecodedOperand *op, ZydisRegister reg)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER && op->reg.value == reg;
}

static bool has_prefix(const struct decoded *d, uint8_t prefix)
{
	for (unsigned int i = 0; i < d->in.raw.prefix_count; i++)
		if (d->in.raw.prefixes[i].value == prefix)
			return true;
	return false;
}

/*
 * Emulated: push of a whole register without any prefix except REX.B, nop (0x90 after 0x66s only: 0xf3 makes it pause
 * and REX.B an exchange), relative jumps, branches and calls. The long nops (0f 1f) and endbr64 are emulated by the
 * newest kernels only, so they do not count.
 */
static enum insn_cost probe_cost(const struct decoded *d)
{
	static const uint8_t refused[] = { 0x26, 0x2e, 0x36, 0x3e, 0xf0 }, nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	const uint8_t *b = d->bytes;
	for (size_t i = 0; i < sizeof(refused); i++)
		if (has_prefix(d, refused[i]))
			return INSN_REFUSED;
	/* Linux 6.18 replaces it by a call, which writes below rsp, into the red zone of a leaf function. */
	if (d->in.length == sizeof(nop5) && !memcmp(b, nop5, sizeof(nop5)))
		return INSN_REFUSED;
	switch (d->in.meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_CALL:
		/* loop and jrcxz are stepped; a 16-bit branch is an error to the kernel. */
		if (d->in.meta.branch_type == ZYDIS_BRANCH_TYPE_NONE || !d->in.raw.imm[0].is_relative ||
		    (d->in.opcode >= 0xe0 && d->in.opcode <= 0xe3 && d->in.opcode_map == 0))
			return INSN_STEPPED;
		return has_prefix(d, 0x66) ? INSN_REFUSED : INSN_EMULATED;
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_SYSTEM: return INSN_REFUSED;
	default: break;
	}
	if (d->in.mnemonic == ZYDIS_MNEMONIC_PUSH &&
	    ((d->in.length == 1 && (b[0] & 0xf8) == 0x50) || (d->in.length == 2 && b[0] == 0x41 && (b[1] & 0xf8) == 0x50)))
		return INSN_EMULATED;
	if (d->in.mnemonic == ZYDIS_MNEMONIC_NOP && b[d->in.length - 1] == 0x90) {
		for (unsigned int i = 0; i + 1 < d->in.length; i++)
			if (b[i] != 0x66)
				return INSN_STEPPED;
		return INSN_EMULATED;
	}
	return INSN_STEPPED;
}

static void set_flow(const struct decoded *d, struct insn *out)
{
	bool direct = d->in.operand_count_visible > 0 && d->op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	if (direct && d->op[0].imm.is_relative)
		out->target = out->vaddr + d->in.length + d->op[0].imm.value.u;
	switch (d->in.meta.category) {
	case ZYDIS_CATEGORY_COND_BR: out->flow = INSN_BRANCH; break;
	case ZYDIS_CATEGORY_UNCOND_BR: out->flow = direct ? INSN_JUMP : INSN_INDIRECT; break;
	case ZYDIS_CATEGORY_CALL: out->flow = INSN_CALL; break;
	case ZYDIS_CATEGORY_RET: out->flow = INSN_RETURN; break;
	default:
		if (d->in.mnemonic == ZYDIS_MNEMONIC_UD2 || d->in.mnemonic == ZYDIS_MNEMONIC_HLT ||
		    d->in.mnemonic == ZYDIS_MNEMONIC_INT3)
			out->flow = INSN_STOP;
	}
	if (d->in.mnemonic == ZYDIS_MNEMONIC_JZ)
		out->when = INSN_IF_ZERO;
	else if (d->in.mnemonic == ZYDIS_MNEMONIC_JNZ)
		out->when = INSN_IF_NONZERO;
}

/* lea reg, [base + disp] or add/sub reg, imm or mov reg, base as "reg = base + delta". */
static bool is_sum(const struct decoded *d, ZydisRegister *base, int64_t *delta)
{
	const ZydisDecodedOperand *a = &d->op[0], *b = &d->op[1];
	if (d->in.operand_count_visible < 2 || d->in.operand_width != 64 || a->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return false;
	*delta = 0;
	switch (d->in.mnemonic) {
	case ZYDIS_MNEMONIC_MOV: *base = b->reg.value; return b->type == ZYDIS_OPERAND_TYPE_REGISTER;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		*base = a->reg.value;
		*delta = d->in.mnemonic == ZYDIS_MNEMONIC_ADD ? b->imm.value.s : -b->imm.value.s;
		break;
	case ZYDIS_MNEMONIC_LEA:
		*base = b->mem.base;
		*delta = b->mem.disp.value;
		return b->mem.index == ZYDIS_REGISTER_NONE && *delta > INT_MIN && *delta < INT_MAX;
	default: return false;
	}
	return b->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && *delta > INT_MIN && *delta < INT_MAX;
}

static void set_stack_pointer(const struct decoded *d, struct insn *out)
{
	ZydisRegister base;
	int64_t delta;
	int32_t word = d->in.operand_width / 8;

	if (d->in.mnemonic == ZYDIS_MNEMONIC_PUSH || d->in.mnemonic == ZYDIS_MNEMONIC_PUSHFQ) {
		out->stack = INSN_SP_ADD;
		out->sp_delta = -word;
	} else if (d->in.mnemonic == ZYDIS_MNEMONIC_POPFQ ||
		   (d->in.mnemonic == ZYDIS_MNEMONIC_POP && !is_reg(&d->op[0], ZYDIS_REGISTER_RSP))) {
		out->stack = INSN_SP_ADD;
		out->sp_delta = word;
	} else if (d->in.mnemonic == ZYDIS_MNEMONIC_LEAVE) {
		out->stack = INSN_SP_LEAVE;
	} else if (is_sum(d, &base, &delta) && base == ZYDIS_REGISTER_RSP) {
		out->stack = INSN_SP_ADD;
		out->sp_delta = (int32_t)delta;
	} else if (is_sum(d, &base, &delta) && base == ZYDIS_REGISTER_RBP) {
		out->stack = INSN_SP_FROM_BP;
		out->sp_delta = (int32_t)delta;
	} else {
		out->stack = INSN_SP_LOST;
	}
}

static void set_frame_pointer(const struct decoded *d, struct insn *out)
{
	ZydisRegister base;
	int64_t delta;
	out->frame = INSN_BP_LOST;
	if (is_sum(d, &base, &delta) && base == ZYDIS_REGISTER_RSP) {
		out->frame = INSN_BP_FROM_SP;
		out->bp_delta = (int32_t)delta;
	}
}

static void set_writes(const struct decoded *d, struct insn *out)
{
	for (unsigned int i = 0; i < d->in.operand_count; i++) {
		const ZydisDecodedOperand *op = &d->op[i];
		if (!(op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		int reg = op->type == ZYDIS_OPERAND_TYPE_REGISTER ? reg_of(op->reg.value) : INSN_NO_REG;
		if (reg != INSN_NO_REG)
			out->writes |= INSN_BIT(reg);
		if (op->type == ZYDIS_OPERAND_TYPE_MEMORY && d->in.meta.category != ZYDIS_CATEGORY_PUSH && out->flow != INSN_CALL)
			out->stores = true;
	}
}

static void set_values(const struct decoded *d, struct insn *out)
{
	const ZydisDecodedOperand *a = &d->op[0], *b = &d->op[1];
	out->copy_to = out->copy_from = out->low_to = out->low_from = out->zeroes = out->tests = INSN_NO_REG;
	if (d->in.operand_count_visible != 2 || a->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return;
	bool same = is_reg(b, a->reg.value);
	if (d->in.mnemonic == ZYDIS_MNEMONIC_MOV && d->in.operand_width >= 32 && b->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    reg_of(a->reg.value) >= 0 && reg_of(b->reg.value) >= 0) {
		out->low_to = (int8_t)reg_of(a->reg.value);
		out->low_from = (int8_t)reg_of(b->reg.value);
	}
	if (d->in.operand_width == 64) {
		out->copy_to = out->low_to;
		out->copy_from = out->low_from;
	}
	if (d->in.mnemonic == ZYDIS_MNEMONIC_XOR && same && d->in.operand_width >= 32)
		out->zeroes = (int8_t)reg_of(a->reg.value);
	if (d->in.mnemonic == ZYDIS_MNEMONIC_TEST && same && d->in.operand_width == 64)
		out->tests = (int8_t)reg_of(a->reg.value);
}

bool insn_decode(const uint8_t *bytes, size_t n, uint64_t vaddr, struct insn *out)
{
	struct decoded d = { .bytes = bytes };
	ZydisDecoder decoder;

	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n, &d.in, d.op)))
		return false;
	*out = (struct insn){ .vaddr = vaddr, .len = d.in.length };
	out->cost = probe_cost(&d);
	set_flow(&d, out);
	set_writes(&d, out);
	set_values(&d, out);
	if ((out->writes & INSN_BIT(INSN_RSP)) && out->flow != INSN_CALL)
		set_stack_pointer(&d, out);
	if (out->writes & INSN_BIT(INSN_RBP))
		set_frame_pointer(&d, out);
	out->pushes_fp = d.in.mnemonic == ZYDIS_MNEMONIC_PUSH && is_reg(&d.op[0], ZYDIS_REGISTER_RBP);
	out->padding = d.in.mnemonic == ZYDIS_MNEMONIC_NOP || d.in.mnemonic == ZYDIS_MNEMONIC_INT3;
	return true;
}

void insn_constants(const uint8_t *bytes, size_t n, uint64_t vaddr, struct insn_constants *out)
{
	struct decoded d = { .bytes = bytes };
	ZydisDecoder decoder;

	*out = (struct insn_constants){ .with = INSN_NO_REG, .left = INSN_NO_REG };
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n, &d.in, d.op)))
		return;
	const ZydisDecodedOperand *a = &d.op[0], *b = &d.op[1];
	out->multiplies = d.in.mnemonic == ZYDIS_MNEMONIC_IMUL && d.in.operand_count_visible == 3;
	out->imm = out->multiplies ? d.op[2].imm.value.u : 0;
	if (d.in.operand_count_visible != 2)
		return;
	out->compares = d.in.mnemonic == ZYDIS_MNEMONIC_CMP && b->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	out->imm = out->compares ? b->imm.value.u : 0;
	if (out->compares && d.in.operand_width == 64 && a->type == ZYDIS_OPERAND_TYPE_REGISTER)
		out->left = (int8_t)reg_of(a->reg.value);
	if (b->type != ZYDIS_OPERAND_TYPE_MEMORY || a->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return;
	ZyanU64 address = 0;
	out->takes_address = d.in.mnemonic == ZYDIS_MNEMONIC_LEA && b->mem.base == ZYDIS_REGISTER_RIP &&
			     ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&d.in, b, vaddr, &address));
	out->address = address;
}

bool insn_know(struct insn_known *k, const uint8_t *bytes, const struct insn *in)
{
	(void)k, (void)bytes, (void)in;
	return false;
}

void insn_tls_of(const uint8_t *bytes, size_t n, const struct insn_known *k, struct insn_tls *out)
{
	struct insn_fetch f;
	(void)k;
	insn_fetch_of(bytes, n, 0, &f);
	*out = (struct insn_tls){ .loads = f.fetches && f.tls && f.bytes == 8 && f.base < 0 && f.index < 0 };
	out->offset = out->loads ? f.disp : 0;
}

/* The address of a memory operand, if it is fixed or just a register's value. */
static bool set_place(const struct decoded *d, const ZydisDecodedOperand *op, uint64_t vaddr, struct insn_use *out)
{
	ZyanU64 address = 0;
	bool fixed = op->mem.base == ZYDIS_REGISTER_RIP || op->mem.base == ZYDIS_REGISTER_NONE;
	if (op->mem.index != ZYDIS_REGISTER_NONE || op->mem.segment == ZYDIS_REGISTER_FS || op->mem.segment == ZYDIS_REGISTER_GS)
		return false;
	if (fixed && !ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&d->in, op, vaddr, &address)))
		return false;
	out->address = address;
	out->base = fixed ? INSN_NO_REG : (int8_t)reg_of(op->mem.base);
	return fixed || (out->base >= 0 && op->mem.disp.value == 0);
}

static bool is_one(const struct decoded *d)
{
	return d->in.mnemonic == ZYDIS_MNEMONIC_INC ||
	       (d->in.mnemonic == ZYDIS_MNEMONIC_ADD && d->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		d->op[1].imm.value.u == 1) ||
	       (d->in.mnemonic == ZYDIS_MNEMONIC_SUB && d->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		d->op[1].imm.value.s == -1);
}

static enum insn_word use_of(const struct decoded *d, uint64_t vaddr, struct insn_use *out)
{
	const ZydisDecodedOperand *a = &d->op[0], *b = &d->op[1];
	bool a_reg = a->type == ZYDIS_OPERAND_TYPE_REGISTER, b_reg = b->type == ZYDIS_OPERAND_TYPE_REGISTER;
	bool move = d->in.mnemonic == ZYDIS_MNEMONIC_MOV;
	if (a_reg)
		out->reg = out->from = (int8_t)reg_of(a->reg.value);
	if (a_reg && is_one(d))
		return INSN_PLUS_1;
	if (a->type == ZYDIS_OPERAND_TYPE_MEMORY && is_one(d))
		return set_place(d, a, vaddr, out) ? INSN_COUNTS : INSN_OTHER;
	if (a_reg && d->in.mnemonic == ZYDIS_MNEMONIC_LEA) {
		out->from = (int8_t)reg_of(b->mem.base);
		if (out->from >= 0 && b->mem.index == ZYDIS_REGISTER_NONE && b->mem.disp.value == 1)
			return INSN_PLUS_1;
		return set_place(d, b, vaddr, out) && out->base == INSN_NO_REG ? INSN_POINTS : INSN_OTHER;
	}
	if (move && a_reg && b->type == ZYDIS_OPERAND_TYPE_MEMORY)
		return set_place(d, b, vaddr, out) ? INSN_LOADS : INSN_OTHER;
	if (move && a->type == ZYDIS_OPERAND_TYPE_MEMORY && b_reg) {
		out->reg = (int8_t)reg_of(b->reg.value);
		return set_place(d, a, vaddr, out) ? INSN_STORES : INSN_OTHER;
	}
	return INSN_OTHER;
}

void insn_load_of(const uint8_t *bytes, size_t n, uint64_t vaddr, struct insn_load *out)
{
	struct decoded d = { .bytes = bytes };
	struct insn_use place = { 0 };
	ZydisDecoder decoder;

	*out = (struct insn_load){ .base = INSN_NO_REG };
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n, &d.in, d.op)) || d.in.operand_count_visible != 2 ||
	    d.in.operand_width != 64 || d.op[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    d.op[1].type != ZYDIS_OPERAND_TYPE_MEMORY || d.op[1].mem.index != ZYDIS_REGISTER_NONE)
		return;
	if (!set_place(&d, &d.op[1], vaddr, &place) && place.base < 0)
		return;
	out->loads = d.in.mnemonic == ZYDIS_MNEMONIC_MOV;
	out->adds = d.in.mnemonic == ZYDIS_MNEMONIC_ADD;
	out->reg = (int8_t)reg_of(d.op[0].reg.value);
	out->base = place.base;
	out->disp = place.base < 0 ? 0 : d.op[1].mem.disp.value;
	out->address = place.address;
}

static bool is_fetch(const struct decoded *d)
{
	bool moves = d->in.mnemonic == ZYDIS_MNEMONIC_MOV || d->in.mnemonic == ZYDIS_MNEMONIC_MOVZX;
	return (moves || d->in.mnemonic == ZYDIS_MNEMONIC_LEA) && d->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       d->op[1].type == ZYDIS_OPERAND_TYPE_MEMORY;
}

void insn_fetch_of(const uint8_t *bytes, size_t n, uint64_t vaddr, struct insn_fetch *out)
{
	struct decoded d = { .bytes = bytes };
	ZydisDecoder decoder;

	*out = (struct insn_fetch){ .reg = INSN_NO_REG, .base = INSN_NO_REG, .index = INSN_NO_REG };
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n, &d.in, d.op)) || d.in.operand_count_visible != 2 ||
	    !is_fetch(&d))
		return;
	const ZydisDecodedOperand *from = &d.op[1];
	ZyanU64 address = (ZyanU64)from->mem.disp.value;
	if (from->mem.base == ZYDIS_REGISTER_RIP && !ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&d.in, from, vaddr, &address)))
		return;
	out->fetches = true;
	out->bytes = d.in.mnemonic == ZYDIS_MNEMONIC_LEA ? 0 : (uint8_t)(from->size / 8);
	out->tls = from->mem.segment == ZYDIS_REGISTER_FS;
	out->reg = (int8_t)reg_of(d.op[0].reg.value);
	out->base = (int8_t)reg_of(from->mem.base);
	out->index = (int8_t)reg_of(from->mem.index);
	out->scale = from->mem.scale;
	out->disp = (int64_t)address;
}

void insn_use_of(const uint8_t *bytes, size_t n, uint64_t vaddr, struct insn_use *out)
{
	struct decoded d = { .bytes = bytes };
	ZydisDecoder decoder;

	*out = (struct insn_use){ .reg = INSN_NO_REG, .from = INSN_NO_REG, .base = INSN_NO_REG };
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n, &d.in, d.op)) || d.in.operand_count_visible < 1 ||
	    d.in.operand_width != 64)
		return;
	out->does = use_of(&d, vaddr, out);
}

static enum insn_does does_of(const struct decoded *d)
{
	switch (d->in.mnemonic) {
	case ZYDIS_MNEMONIC_MOV: return INSN_COPIES;
	case ZYDIS_MNEMONIC_SUB: return INSN_SUBTRACTS;
	case ZYDIS_MNEMONIC_ADD: return INSN_ADDS;
	case ZYDIS_MNEMONIC_SAR: return INSN_SHIFTS;
	default: return INSN_NO_MOVE;
	}
}

static void set_memory(const ZydisDecodedOperand *op, int8_t *base, int32_t *disp)
{
	bool plain = op->mem.index == ZYDIS_REGISTER_NONE && op->mem.segment != ZYDIS_REGISTER_FS &&
		     op->mem.segment != ZYDIS_REGISTER_GS;
	*base = plain ? (int8_t)reg_of(op->mem.base) : INSN_NO_REG;
	*disp = (int32_t)op->mem.disp.value;
}

size_t insn_moves_of(const uint8_t *bytes, size_t n, struct insn_move out[INSN_MOVES])
{
	struct decoded d = { .bytes = bytes };
	const ZydisDecodedOperand *to = &d.op[0], *from = &d.op[1];
	ZydisDecoder decoder;

	*out = (struct insn_move){ .to = INSN_NO_REG, .left = INSN_NO_REG, .from = INSN_NO_REG, .base = INSN_NO_REG };
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n, &d.in, d.op)) || d.in.operand_count_visible != 2 ||
	    d.in.operand_width != 64)
		return 0;
	enum insn_does does = does_of(&d);
	if (from->type == ZYDIS_OPERAND_TYPE_REGISTER)
		out->from = (int8_t)reg_of(from->reg.value);
	if (from->type == ZYDIS_OPERAND_TYPE_MEMORY)
		set_memory(from, &out->base, &out->disp);
	if (does == INSN_SHIFTS)
		out->bits = from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? (uint8_t)from->imm.value.u : 0;
	if (to->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		out->to = out->left = (int8_t)reg_of(to->reg.value);
		out->does = does;
	} else if (to->type == ZYDIS_OPERAND_TYPE_MEMORY && does == INSN_COPIES) {
		set_memory(to, &out->base, &out->disp);
		out->does = INSN_PUTS;
	}
	return out->does != INSN_NO_MOVE;
}

void insn_put_of(const uint8_t *bytes, size_t n, struct insn_put *out)
{
	struct decoded d = { .bytes = bytes };
	const ZydisDecodedOperand *to = &d.op[0], *from = &d.op[1];
	ZydisDecoder decoder;

	*out = (struct insn_put){ .from = INSN_NO_REG, .base = INSN_NO_REG };
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n, &d.in, d.op)) || d.in.mnemonic != ZYDIS_MNEMONIC_MOV ||
	    to->type != ZYDIS_OPERAND_TYPE_MEMORY || from->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return;
	out->bytes = (uint8_t)(to->size / 8);
	out->from = (int8_t)reg_of(from->reg.value);
	set_memory(to, &out->base, &out->disp);
}

static int8_t sse_of(const ZydisDecodedOperand *op)
{
	bool sse = op->type == ZYDIS_OPERAND_TYPE_REGISTER && ZydisRegisterGetClass(op->reg.value) == ZYDIS_REGCLASS_XMM;
	return sse ? (int8_t)ZydisRegisterGetId(op->reg.value) : INSN_NO_REG;
}

static enum insn_pair_does loaded_by(ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_MOVQ: return INSN_PAIR_LOW;
	case ZYDIS_MNEMONIC_MOVHPS: return INSN_PAIR_HIGH;
	case ZYDIS_MNEMONIC_PUNPCKLQDQ: return INSN_PAIR_JOINS;
	default: return INSN_PAIR_OTHER;
	}
}

static bool stores_both(ZydisMnemonic m)
{
	return m == ZYDIS_MNEMONIC_MOVUPS || m == ZYDIS_MNEMONIC_MOVAPS || m == ZYDIS_MNEMONIC_MOVDQU ||
	       m == ZYDIS_MNEMONIC_MOVDQA;
}

/* Another SSE register as source of a single word, or none where one is wanted: not followed. */
static bool is_followed(const struct insn_pair *p)
{
	if (p->does == INSN_PAIR_JOINS)
		return p->from >= 0;
	return p->does == INSN_PAIR_LOW ? p->from >= 0 || p->base >= 0 : p->base >= 0;
}

void insn_pair_of(const uint8_t *bytes, size_t n, struct insn_pair *out)
{
	struct decoded d = { .bytes = bytes };
	const ZydisDecodedOperand *to = &d.op[0], *from = &d.op[1];
	ZydisDecoder decoder;

	*out = (struct insn_pair){ .to = INSN_NO_REG, .from = INSN_NO_REG, .base = INSN_NO_REG };
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n, &d.in, d.op)) || d.in.operand_count_visible < 1)
		return;
	out->to = sse_of(to);
	if (out->to >= 0 && d.in.operand_count_visible == 2) {
		out->does = loaded_by(d.in.mnemonic);
		out->from = out->does == INSN_PAIR_LOW && from->type == ZYDIS_OPERAND_TYPE_REGISTER
				    ? (int8_t)reg_of(from->reg.value)
				    : sse_of(from);
		if (from->type == ZYDIS_OPERAND_TYPE_MEMORY)
			set_memory(from, &out->base, &out->disp);
	} else if (to->type == ZYDIS_OPERAND_TYPE_MEMORY && stores_both(d.in.mnemonic)) {
		out->does = INSN_PAIR_PUTS;
		out->from = sse_of(from);
		set_memory(to, &out->base, &out->disp);
	}
	if (out->to >= 0 && !is_followed(out))
		out->does = INSN_PAIR_OTHER;
}
