/* SPDX-License-Identifier: Apache-2.0 */
/* notes/note_place of x86-64: see note_place.h. AT&T syntax. */
#include "notes/note_place.h"

#include <errno.h>
#include <string.h>

/*
 * Only of one byte: the kernel may rewrite one of five bytes into a call, which another thread can be in the middle of.
 */
const struct note_nop note_nop = { .bytes = { 0x90 }, .len = 1, .emulated = true };

/* The names of one register for 8, 4, 2 and 1 bytes. */
static const struct {
	const char *names[4];
	uint8_t reg;
} registers[] = {
	{ { "rax", "eax", "ax", "al" }, ALYS_REG_RAX },         { { "rbx", "ebx", "bx", "bl" }, ALYS_REG_RBX },
	{ { "rcx", "ecx", "cx", "cl" }, ALYS_REG_RCX },         { { "rdx", "edx", "dx", "dl" }, ALYS_REG_RDX },
	{ { "rsi", "esi", "si", "sil" }, ALYS_REG_RSI },        { { "rdi", "edi", "di", "dil" }, ALYS_REG_RDI },
	{ { "rbp", "ebp", "bp", "bpl" }, ALYS_REG_RBP },        { { "rsp", "esp", "sp", "spl" }, ALYS_REG_SP },
	{ { "r8", "r8d", "r8w", "r8b" }, ALYS_REG_R8 },         { { "r9", "r9d", "r9w", "r9b" }, ALYS_REG_R8 + 1 },
	{ { "r10", "r10d", "r10w", "r10b" }, ALYS_REG_R8 + 2 }, { { "r11", "r11d", "r11w", "r11b" }, ALYS_REG_R8 + 3 },
	{ { "r12", "r12d", "r12w", "r12b" }, ALYS_REG_R8 + 4 }, { { "r13", "r13d", "r13w", "r13b" }, ALYS_REG_R8 + 5 },
	{ { "r14", "r14d", "r14w", "r14b" }, ALYS_REG_R8 + 6 }, { { "r15", "r15d", "r15w", "r15b" }, ALYS_REG_R8 + 7 },
};

/* The register named at `text`, without %; widest: the whole one only. Returns the length of its name, 0 = no such. */
static size_t take_register(const char *text, bool widest, uint8_t *out)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789");
	for (size_t i = 0; i < sizeof(registers) / sizeof(*registers); i++) {
		for (int k = 0; k < (widest ? 1 : 4); k++) {
			if (strlen(registers[i].names[k]) != n || strncmp(registers[i].names[k], text, n))
				continue;
			*out = registers[i].reg;
			return n;
		}
	}
	return 0;
}

/* "-20(%rbp)" behind its size. */
static int read_memory(const char **at, struct alys_note_arg *out)
{
	out->form = ALYS_NOTE_MEMORY;
	if (**at != '(' && !note_number(at, &out->value))
		return -ENOTSUP; /* a symbol */
	size_t n = (*at)[0] == '(' && (*at)[1] == '%' ? take_register(*at + 2, true, &out->reg) : 0;
	if (!n || (*at)[2 + n] != ')')
		return -ENOTSUP; /* no base, an index, or an absolute address */
	*at += 3 + n;
	return 0;
}

int note_place(const char **at, struct alys_note_arg *out)
{
	if (**at == '$') {
		out->form = ALYS_NOTE_CONSTANT;
		(*at)++;
		return note_number(at, &out->value) ? 0 : -ENOTSUP;
	}
	if (**at != '%')
		return read_memory(at, out);
	size_t n = take_register(*at + 1, false, &out->reg);
	out->form = ALYS_NOTE_REGISTER;
	*at += 1 + n;
	return n ? 0 : -ENOTSUP;
}
