/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notes/note_place of aarch64: see note_place.h. gcc and clang write constants without #, which assemblers take as well. A place with an index
 * register or a part of an address ([x0, #:lo12:name]) is refused.
 */
#include "notes/note_place.h"

#include <errno.h>
#include <string.h>

#define ZERO 255 /* xzr, wzr: not on the wire */

/* Newer kernels emulate it, older ones step over it. */
const struct note_nop note_nop = { .bytes = { 0x1f, 0x20, 0x03, 0xd5 }, .len = 4, .emulated = false };

static bool is_named(const char *text, size_t n, const char *name)
{
	return strlen(name) == n && !strncmp(text, name, n);
}

/* x0 to x30, w0 to w30. */
static bool take_number_of(const char *text, size_t n, uint8_t *out)
{
	if (n < 2 || n > 3 || (*text != 'x' && *text != 'w') || (n == 3 && text[1] == '0'))
		return false;
	unsigned int number = 0;
	for (size_t i = 1; i < n; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		number = number * 10 + (unsigned int)(text[i] - '0');
	}
	*out = (uint8_t)number;
	return number <= 30;
}

/* Moves *at behind the name. False: no general register. */
static bool take_register(const char **at, uint8_t *out)
{
	static const struct {
		const char *name;
		uint8_t reg;
	} named[] = {
		{ "sp", ALYS_REG_SP }, { "wsp", ALYS_REG_SP }, { "fp", 29 }, { "lr", 30 }, { "xzr", ZERO }, { "wzr", ZERO }
	};
	const char *text = *at;
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789");
	*at += n;
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
		if (!is_named(text, n, named[i].name))
			continue;
		*out = named[i].reg;
		return true;
	}
	return take_number_of(text, n, out);
}

/* Behind a comma: the distance. */
static bool take_distance(const char **at, long long *out)
{
	(*at)++;
	*at += strspn(*at, " ");
	*at += **at == '#';
	return note_number(at, out);
}

/* "[sp, 16]". The base is a whole register. */
static int read_memory(const char **at, struct alys_note_arg *out)
{
	out->form = ALYS_NOTE_MEMORY;
	(*at)++;
	if (**at == 'w' || !take_register(at, &out->reg) || out->reg == ZERO)
		return -ENOTSUP;
	if (**at == ',' && !take_distance(at, &out->value))
		return -ENOTSUP;
	if (**at != ']')
		return -ENOTSUP;
	(*at)++;
	return 0;
}

int note_place(const char **at, struct alys_note_arg *out)
{
	if (**at == '[')
		return read_memory(at, out);
	const char *number = *at + (**at == '#');
	if (*number == '-' || (*number >= '0' && *number <= '9')) {
		out->form = ALYS_NOTE_CONSTANT;
		*at = number;
		return note_number(at, &out->value) ? 0 : -ENOTSUP;
	}
	out->form = ALYS_NOTE_REGISTER;
	if (!take_register(at, &out->reg))
		return -ENOTSUP;
	if (out->reg == ZERO) {
		out->form = ALYS_NOTE_CONSTANT;
		out->reg = 0;
	}
	return 0;
}
