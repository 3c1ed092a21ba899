/* SPDX-License-Identifier: Apache-2.0 */
/* notes/args: places of a probe's arguments, in the assembler's words (AT&T syntax). */
#include "notes/notes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The names of one register for 8, 4, 2 and 1 bytes. */
static const struct {
	const char *names[4];
	uint8_t reg;
} registers[] = {
	{ { "rax", "eax", "ax", "al" }, ALYS_REG_RAX },         { { "rbx", "ebx", "bx", "bl" }, ALYS_REG_RBX },
	{ { "rcx", "ecx", "cx", "cl" }, ALYS_REG_RCX },         { { "rdx", "edx", "dx", "dl" }, ALYS_REG_RDX },
	{ { "rsi", "esi", "si", "sil" }, ALYS_REG_RSI },        { { "rdi", "edi", "di", "dil" }, ALYS_REG_RDI },
	{ { "rbp", "ebp", "bp", "bpl" }, ALYS_REG_RBP },        { { "rsp", "esp", "sp", "spl" }, ALYS_REG_RSP },
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

/* A number in C's forms. False: there is none at *at. */
static bool take_number(const char **at, long long *out)
{
	char *end;
	const char *digits = *at + (**at == '-');
	if (*digits < '0' || *digits > '9')
		return false;
	errno = 0;
	/* Constants up to 2^64 - 1 keep their bits. */
	*out = **at == '-' ? strtoll(*at, &end, 0) : (long long)strtoull(*at, &end, 0);
	*at = end;
	return !errno;
}

static bool ends(const char *at)
{
	return !*at || *at == ' ';
}

/* "-20(%rbp)" behind its size. */
static int read_memory(const char *at, struct alys_note_arg *out)
{
	out->form = ALYS_NOTE_MEMORY;
	if (*at != '(' && !take_number(&at, &out->value))
		return -ENOTSUP; /* a symbol */
	size_t n = at[0] == '(' && at[1] == '%' ? take_register(at + 2, true, &out->reg) : 0;
	if (!n || at[2 + n] != ')')
		return -ENOTSUP; /* no base, an index, or an absolute address */
	return ends(at + 3 + n) ? 0 : -EINVAL;
}

static int read_place(const char *at, struct alys_note_arg *out)
{
	if (*at == '$') {
		out->form = ALYS_NOTE_CONSTANT;
		at++;
		return take_number(&at, &out->value) ? (ends(at) ? 0 : -EINVAL) : -ENOTSUP;
	}
	if (*at != '%')
		return read_memory(at, out);
	size_t n = take_register(at + 1, false, &out->reg);
	out->form = ALYS_NOTE_REGISTER;
	return n && ends(at + 1 + n) ? 0 : -ENOTSUP;
}

/* "8@" or "-4@". */
static int read_size(const char **at, struct alys_note_arg *out)
{
	long long size;
	if (!take_number(at, &size) || **at != '@')
		return -EINVAL;
	(*at)++;
	out->is_signed = size < 0;
	out->size = (uint8_t)(size < 0 ? -size : size);
	return size == 1 || size == 2 || size == 4 || size == 8 || size == -1 || size == -2 || size == -4 || size == -8
		       ? 0
		       : -ENOTSUP;
}

int note_args(const char *text, struct alys_note_arg *out, unsigned int max)
{
	int n = 0;
	memset(out, 0, max * sizeof(*out));
	for (const char *at = text + strspn(text, " "); *at; n++) {
		struct alys_note_arg a = { 0 };
		int rc = (unsigned int)n < max ? read_size(&at, &a) ?: read_place(at, &a) : 0;
		if (rc)
			return rc;
		if ((unsigned int)n < max)
			out[n] = a;
		at += strcspn(at, " ");
		at += strspn(at, " ");
	}
	return n;
}
