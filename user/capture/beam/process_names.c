/* SPDX-License-Identifier: Apache-2.0 */
/* beam/process_names: see process_names.h. */
#include "beam/process_names.h"

#include <string.h>

#include "beam/reading.h"

#define WORD_SZ 8
#define OFFSET_MAX 4096

/* What a register was loaded with last. */
struct loaded {
	bool known, through; /* through: [[process + first] + then]; else [process + first] */
	int32_t first, then;
};

struct printing {
	const struct funcs *f;
	struct loaded in[INSN_REGS];
	insn_regs process; /* registers that hold it */
	uint64_t format;   /* text whose address was taken last */
};

static bool is_text(const struct printing *p, const char *text)
{
	size_t n = strlen(text) + 1;
	const uint8_t *bytes = p->format ? elf_bytes(p->f->elf, p->format, n) : NULL;
	return bytes && !memcmp(bytes, text, n);
}

static bool is_offset(int64_t at)
{
	return at > 0 && at < OFFSET_MAX && at % WORD_SZ == 0;
}

static void note_name(const struct printing *p, struct alys_beam *out)
{
	const struct loaded *name = &p->in[insn_machine.args[3]];
	if (!name->known || !name->through || !is_offset(name->first) || !is_offset(name->then))
		return;
	out->registered = (uint16_t)name->first;
	out->registered_name = (uint16_t)name->then;
}

static void note_initial(const struct printing *p, struct alys_beam *out)
{
	const struct loaded *module = &p->in[insn_machine.args[3]], *function = &p->in[insn_machine.args[4]],
			    *arity = &p->in[insn_machine.args[5]];
	bool direct = module->known && function->known && arity->known && !module->through && !function->through &&
		      !arity->through;
	if (direct && is_offset(module->first) && function->first == module->first + WORD_SZ &&
	    arity->first == module->first + 2 * WORD_SZ)
		out->initial = (uint16_t)module->first;
}

static struct loaded loaded_by(const struct printing *p, const struct insn_move *m)
{
	bool loads = m->does == INSN_COPIES && m->from < 0 && m->base >= 0;
	struct loaded from = loads ? p->in[m->base] : (struct loaded){ 0 };
	if (loads && p->process & INSN_BIT(m->base))
		return (struct loaded){ .known = true, .first = m->disp };
	if (from.known && !from.through)
		return (struct loaded){ .known = true, .through = true, .first = from.first, .then = m->disp };
	return (struct loaded){ 0 };
}

static void step(struct printing *p, const struct reading *r)
{
	struct insn_move m[INSN_MOVES];
	struct loaded now[INSN_MOVES];
	insn_regs copied = 0;
	size_t n = insn_moves_of(r->bytes, r->left, m);
	for (size_t i = 0; i < n; i++) {
		now[i] = loaded_by(p, &m[i]);
		copied |= reading_copy_of(&m[i], p->process);
	}
	for (int i = 0; i < INSN_REGS; i++) {
		if (r->in.writes & INSN_BIT(i))
			p->in[i] = (struct loaded){ 0 };
	}
	p->process = (p->process & ~r->in.writes) | copied;
	for (size_t i = 0; i < n; i++) {
		if (now[i].known && m[i].to >= 0)
			p->in[m[i].to] = now[i];
	}
}

static void see(struct printing *p, const struct reading *r, struct alys_beam *out)
{
	const struct insn_value *text = &r->known.of[insn_machine.args[2]];
	struct insn_constants k;
	if (r->in.flow != INSN_CALL) {
		insn_constants(r->bytes, r->left, r->in.vaddr, &k);
		p->format = k.takes_address ? k.address : p->format;
		step(p, r);
		return;
	}
	if (text->origin == INSN_NUMBER)
		p->format = text->value;
	if (is_text(p, "Name: %T\n"))
		note_name(p, out);
	if (is_text(p, "Spawned as: %T:%T/%bpu\n"))
		note_initial(p, out);
	p->process &= insn_machine.call_keeps;
	p->format = 0;
	memset(p->in, 0, sizeof(p->in));
}

struct variables {
	uint64_t table, names;
};

static int is_variable(void *ctx, const struct elf_symbol *s)
{
	struct variables *v = ctx;
	if (s->defined && !strcmp(s->name, "erts_atom_table"))
		v->table = s->vaddr;
	if (s->defined && !strcmp(s->name, "erl_atom_names"))
		v->names = s->vaddr;
	return 0;
}

/* False: it is longer, or not in the file. */
static bool read_text(const struct elf *e, uint64_t vaddr, char out[BEAM_ATOM_NAME])
{
	for (size_t i = 0; i < BEAM_ATOM_NAME; i++) {
		const uint8_t *c = elf_bytes(e, vaddr + i, 1);
		if (!c)
			return false;
		out[i] = (char)*c;
		if (!*c)
			return true;
	}
	return false;
}

static bool read_names(const struct elf *e, uint64_t names, struct beam_atoms *out)
{
	for (size_t i = 0; i < BEAM_ATOMS; i++) {
		const uint8_t *place = elf_bytes(e, names + i * sizeof(uint64_t), sizeof(uint64_t));
		uint64_t vaddr = 0;
		if (place)
			memcpy(&vaddr, place, sizeof(vaddr));
		if (!vaddr || !read_text(e, vaddr, out->names[i]))
			return false;
	}
	return true;
}

void beam_process_names_find(const struct funcs *f, struct alys_beam *out, struct beam_atoms *atoms)
{
	const struct func *fn = funcs_named(f, "print_process_info");
	struct reading r = fn ? reading_of(f, fn->vaddr) : (struct reading){ 0 };
	struct printing p = { .f = f, .process = INSN_BIT(insn_machine.args[2]) };
	struct variables v = { 0 };
	*atoms = (struct beam_atoms){ 0 };
	elf_each_symbol(f->elf, is_variable, &v);
	if (!v.table || !v.names || !read_names(f->elf, v.names, atoms))
		return;
	atoms->table = v.table;
	while (fn && reading_next(&r))
		see(&p, &r, out);
}
