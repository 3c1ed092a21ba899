/* SPDX-License-Identifier: Apache-2.0 */
/* beam/pids: see pids.h. */
#include "beam/pids.h"

#include <string.h>

#include "beam/reading.h"

#define OLD_BITS 15
#define OLD_SERIAL_BITS 13
#define LARGEST(bits) ((1u << (bits)) - 1)

/* What the function compares with, and what it loads from the variable. */
struct pid_code {
	struct elf_symbol table; /* erts_proc */
	bool number, old_number, old_serial;
	uint64_t first; /* address of the first 64-bit word of the table that is loaded; 0 = none */
};

static int is_table(void *ctx, const struct elf_symbol *s)
{
	struct pid_code *c = ctx;
	if (s->defined && !strcmp(s->name, "erts_proc"))
		c->table = *s;
	return 0;
}

static void note_load(struct pid_code *c, uint64_t address)
{
	if (address - c->table.vaddr < c->table.size && (!c->first || address < c->first))
		c->first = address;
}

static void see(struct pid_code *c, const struct reading *r)
{
	struct insn_constants k;
	struct insn_load l;
	struct insn_move m[INSN_MOVES];
	insn_constants(r->bytes, r->left, r->in.vaddr, &k);
	/* aarch64 puts constants as large as these into registers first. */
	if (k.with >= 0 && r->known.of[k.with].origin == INSN_NUMBER) {
		k.compares = true;
		k.imm = r->known.of[k.with].value;
	}
	c->number |= k.compares && k.imm == LARGEST(ALYS_PID_NUMBER_BITS);
	c->old_number |= k.compares && k.imm == LARGEST(OLD_BITS);
	c->old_serial |= k.compares && k.imm == LARGEST(OLD_SERIAL_BITS);
	insn_load_of(r->bytes, r->left, r->in.vaddr, &l);
	if (l.loads && l.base < 0)
		note_load(c, l.address);
	size_t n = insn_moves_of(r->bytes, r->left, m);
	for (size_t i = 0; i < n; i++) {
		if (m[i].does == INSN_COPIES && m[i].from < 0 && m[i].base >= 0)
			note_load(c, reading_address(r, m[i].base, m[i].disp));
	}
}

void beam_pids_find(const struct funcs *f, struct alys_beam *out)
{
	struct pid_code c = { 0 };
	const struct func *fn = funcs_named(f, "list_to_pid_1");
	struct reading r = fn ? reading_of(f, fn->vaddr) : (struct reading){ 0 };
	elf_each_symbol(f->elf, is_table, &c);
	while (fn && reading_next(&r))
		see(&c, &r);
	bool old = c.old_number && c.old_serial;
	if (old == c.number || (!old && (!c.first || c.first > UINT32_MAX)))
		return;
	out->pid_bits = old ? OLD_BITS : ALYS_PID_NUMBER_BITS;
	out->pid_table = old ? 0 : (uint32_t)c.first;
}
