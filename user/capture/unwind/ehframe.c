/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/ehframe: see ehframe.h. Layout: LSB core specification, "DWARF extensions". */
#include "unwind/ehframe.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "elf/arch.h"

/* One entry; body: what follows the CIE pointer. */
struct entry {
	uint64_t at; /* offset of the entry in the section */
	bool is_cie;
	uint64_t ref; /* of an FDE: offset of its CIE */
	struct cursor body;
};

enum { ENTRY_BAD = -1, ENTRY_NONE, ENTRY_FOUND };

/* A length of zero ends a list; crt files leave such ends in the middle of a section. */
static int next_entry(struct cursor *c, const struct eh_frame *f, struct entry *e)
{
	uint64_t len = 0;
	while (!len) {
		if (!cursor_left(c))
			return ENTRY_NONE;
		e->at = (uint64_t)(c->at - f->base.bytes);
		len = cursor_le(c, 4);
		if (len == 0xffffffff)
			len = cursor_le(c, 8);
		if (c->bad)
			return ENTRY_BAD;
	}
	e->body = cursor_sub(c, len);
	uint64_t id_at = (uint64_t)(e->body.at - f->base.bytes);
	uint64_t id = cursor_le(&e->body, 4);
	if (c->bad || e->body.bad || id > id_at)
		return ENTRY_BAD;
	e->is_cie = id == 0;
	e->ref = id_at - id;
	return ENTRY_FOUND;
}

static void skip_encoded(struct cursor *c, uint8_t enc, const struct cfi_ptr_base *base)
{
	/* Only its size matters, not what it is relative to. */
	if (enc != DW_EH_PE_omit)
		cfi_pointer(c, enc & 0x0f, base);
}

/* "zR", "zPLR", "zRS": what follows is described letter by letter. */
static bool read_augmentation(struct cursor *body, const char *aug, struct cfi_cie *cie, const struct cfi_ptr_base *base)
{
	if (!*aug)
		return true;
	uint64_t n = cursor_varint(body);
	struct cursor c = cursor_sub(body, n);
	bool known = true;
	for (const char *p = aug + 1; *p && known; p++) {
		if (*p == 'R')
			cie->ptr_enc = cursor_u8(&c);
		else if (*p == 'P')
			skip_encoded(&c, cursor_u8(&c), base);
		else if (*p == 'L')
			cursor_u8(&c);
		else if (*p == 'S')
			cie->signal = true;
		else
			known = strchr(cie->machine->augmentations, *p);
	}
	cie->odd |= !known;
	return !c.bad;
}

static bool read_cie_head(struct cursor *body, struct cfi_cie *cie, const struct cfi_ptr_base *base)
{
	uint8_t version = cursor_u8(body);
	const char *aug = (const char *)body->at;
	const uint8_t *nul = memchr(body->at, 0, cursor_left(body));
	if ((version != 1 && version != 3) || !nul || (*aug && *aug != 'z'))
		return false;
	cursor_bytes(body, (size_t)(nul + 1 - body->at));
	cie->code_align = cursor_varint(body);
	/* Signed LEB128; -8 everywhere, one byte. */
	uint8_t align = cursor_u8(body);
	cie->data_align = (int8_t)(align << 1) >> 1;
	uint64_t ra = version == 1 ? cursor_u8(body) : cursor_varint(body);
	cie->odd = ra != cie->machine->ra;
	if (align & 0x80 || !cie->code_align)
		return false;
	return read_augmentation(body, aug, cie, base) && !body->bad;
}

static int add_cie(struct eh_frame *f, const struct entry *e)
{
	struct cursor body = e->body;
	struct cfi_cie cie = { .machine = f->machine, .ptr_enc = DW_EH_PE_absptr };
	if (!read_cie_head(&body, &cie, &f->base))
		return -EBADMSG;
	struct cfi_run run = { .cie = &cie, .base = &f->base };
	struct cfi_state state = { 0 };
	int rc = cie.odd ? 0 : cfi_run(&run, body, &state);
	if (rc)
		return rc;
	cie.init = state;
	struct cfi_cie *slot = VEC_PUSH(f, cies);
	uint64_t *at = slot ? map_put(&f->cie_at, e->at) : NULL;
	if (!at)
		return -ENOMEM;
	*slot = cie;
	*at = f->cies_cnt - 1;
	return 0;
}

/* Linkers always write a CIE before its FDEs. */
static int add_fde(struct eh_frame *f, const struct entry *e, const struct unwind_section *s)
{
	struct cursor body = e->body;
	const uint64_t *index = map_get(&f->cie_at, e->ref);
	if (!index)
		return -EBADMSG;
	const struct cfi_cie *cie = &f->cies[*index];
	uint64_t lo = cfi_pointer(&body, cie->ptr_enc, &f->base);
	uint64_t n = cfi_pointer(&body, cie->ptr_enc & 0x0f, &f->base);
	cursor_sub(&body, cursor_varint(&body)); /* augmentation: the LSDA */
	if (body.bad)
		return -EBADMSG;
	if (!n)
		return 0;
	if (lo < s->text_lo || lo >= s->text_hi || n > s->text_hi - lo) {
		f->outside++;
		return 0;
	}
	struct eh_fde *fde = VEC_PUSH(f, fdes);
	if (!fde)
		return -ENOMEM;
	*fde = (struct eh_fde){
		.lo = lo,
		.hi = lo + n,
		.cie = (uint32_t)*index,
		.program = body.at,
		.program_sz = (uint32_t)cursor_left(&body),
	};
	return 0;
}

struct sort_key {
	uint32_t at; /* address - text_lo: code is less than 4 GB, see TEXT_MAX */
	uint32_t index;
};

/* Radix sort with digits of 11 bits: qsort took a fifth of the whole compilation. */
static void sort_keys(struct sort_key *keys, struct sort_key *spare, size_t n)
{
	for (unsigned int shift = 0; shift < 33; shift += 11) {
		uint32_t begin[1 << 11] = { 0 }, sum = 0;
		for (size_t i = 0; i < n; i++)
			begin[keys[i].at >> shift & 2047]++;
		for (size_t d = 0; d < 2048; d++) {
			uint32_t cnt = begin[d];
			begin[d] = sum;
			sum += cnt;
		}
		for (size_t i = 0; i < n; i++)
			spare[begin[keys[i].at >> shift & 2047]++] = keys[i];
		struct sort_key *swap = keys;
		keys = spare;
		spare = swap;
	}
}

/* An odd number of passes: sort_keys leaves its result in the spare half. */
static int reorder(struct eh_frame *f, uint64_t text_lo)
{
	size_t n = f->fdes_cnt;
	struct sort_key *keys = calloc(2 * n, sizeof(*keys));
	struct eh_fde *sorted = calloc(n, sizeof(*sorted));
	if (!keys || !sorted) {
		free(keys);
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		keys[i] = (struct sort_key){ (uint32_t)(f->fdes[i].lo - text_lo), (uint32_t)i };
	sort_keys(keys, keys + n, n);
	for (size_t i = 0; i < n; i++)
		sorted[i] = f->fdes[keys[n + i].index];
	free(keys);
	free(f->fdes);
	f->fdes = sorted;
	f->fdes_cap = n;
	return 0;
}

static int sort_fdes(struct eh_frame *f, uint64_t text_lo)
{
	for (size_t i = 1; i < f->fdes_cnt; i++) {
		if (f->fdes[i].lo < f->fdes[i - 1].lo)
			return reorder(f, text_lo);
	}
	return 0;
}

int eh_frame_read(struct eh_frame *f, const struct unwind_section *s, struct err *err)
{
	*f = (struct eh_frame){
		.base = { s->bytes, s->vaddr },
		.end = s->bytes + s->size,
		.machine = cfi_machine_of(s->machine ? s->machine : elf_arch.machine),
	};
	if (!f->machine)
		return err_set(err, ENOEXEC, ".eh_frame: of another machine");
	struct cursor c = cursor_over(s->bytes, s->size);
	struct entry e = { 0 };
	int rc = 0, found;
	while (!rc && (found = next_entry(&c, f, &e)) == ENTRY_FOUND)
		rc = e.is_cie ? add_cie(f, &e) : add_fde(f, &e, s);
	if (!rc && found == ENTRY_BAD)
		rc = -EBADMSG;
	if (rc == -EBADMSG)
		return err_set(err, EBADMSG, ".eh_frame: damaged entry at offset %#llx", (unsigned long long)e.at);
	if (rc)
		return err_set(err, -rc, ".eh_frame: out of memory");
	rc = sort_fdes(f, s->text_lo);
	if (rc)
		return err_set(err, -rc, ".eh_frame: out of memory");
	for (size_t i = 1; i < f->fdes_cnt; i++) {
		if (f->fdes[i].lo < f->fdes[i - 1].hi)
			return err_set(err, EBADMSG, ".eh_frame: two entries for the code at %#llx",
				       (unsigned long long)f->fdes[i].lo);
	}
	return 0;
}

static int by_begin(const void *key, const void *fde)
{
	uint64_t at = *(const uint64_t *)key, lo = ((const struct eh_fde *)fde)->lo;
	return at < lo ? -1 : at > lo;
}

const struct eh_fde *eh_fde_at(const struct eh_frame *f, uint64_t lo)
{
	return f->fdes_cnt ? bsearch(&lo, f->fdes, f->fdes_cnt, sizeof(*f->fdes), by_begin) : NULL;
}

static int note_saved(void *ctx, uint64_t pc, const struct cfi_state *s)
{
	int64_t *at = ctx;
	(void)pc;
	if (s->bp.kind == CFI_AT_CFA)
		*at = s->bp.off;
	return 0;
}

/* The register takes the place of fp, which programs are run for anyway. */
int64_t eh_saved_at(const struct eh_frame *f, const struct eh_fde *fde, uint8_t reg)
{
	struct cfi_cie cie = f->cies[fde->cie];
	struct cfi_machine machine = *cie.machine;
	int64_t at = 0;
	machine.bp = reg;
	cie.machine = &machine;
	cie.init.bp = (struct cfi_reg){ .kind = CFI_SAME };
	struct cfi_state state = cie.init;
	struct cfi_run run = { .cie = &cie, .base = &f->base, .lo = fde->lo, .hi = fde->hi, .emit = note_saved, .ctx = &at };
	return cfi_run(&run, cursor_over(fde->program, fde->program_sz), &state) ? 0 : at;
}

void eh_frame_free(struct eh_frame *f)
{
	free(f->cies);
	free(f->fdes);
	map_free(&f->cie_at);
}
