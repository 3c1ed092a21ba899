/* SPDX-License-Identifier: Apache-2.0 */
/* notes/noted: see noted.h. */
#include "notes/noted.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "notes/notes.h"
#include "notes/note_place.h"

struct finding {
	const struct elf *elf;
	struct site_list *out;
};

static const struct allocator *row_of(const struct note *n, uint16_t *row_no)
{
	size_t rows, provider = strlen(n->provider);
	const struct allocator *table = allocators(&rows);
	for (size_t i = 0; i < rows; i++) {
		const char *symbol = table[i].symbol;
		if (table[i].family != ALLOC_USDT || strncmp(symbol, n->provider, provider) || symbol[provider] != ':' ||
		    strcmp(symbol + provider + 1, n->name))
			continue;
		*row_no = (uint16_t)i;
		return &table[i];
	}
	return NULL;
}

/* The kernel adds to the word there: it must be data of this file, and whole. */
static bool take_semaphore(const struct elf *e, uint64_t vaddr, uint64_t *offset)
{
	const struct elf_segment *seg;
	size_t n = elf_segments(e, &seg);
	*offset = 0;
	if (!vaddr)
		return true;
	for (size_t i = 0; i < n; i++) {
		uint64_t into = vaddr - seg[i].vaddr;
		if (seg[i].exec || into >= seg[i].filesz || seg[i].filesz - into < sizeof(uint16_t))
			continue;
		return vaddr % sizeof(uint16_t) == 0 && elf_offset_of(e, vaddr, offset) && *offset;
	}
	return false;
}

/* The arguments that its event needs: a block and its size; or the block. */
static enum entry_choice take_args(const struct note *n, struct site *s)
{
	int least = s->row->shape == ALYS_SHAPE_FREE ? 1 : 2;
	int got = note_args(n->args, s->note.arg, s->row->shape == ALYS_SHAPE_FREE ? 1 : ALYS_NOTE_ARGS);
	return got == -ENOTSUP ? ENTRY_NOTE_PLACES : got < least ? ENTRY_NOTE_ARGS : ENTRY_NOTED;
}

static enum entry_choice choose(const struct elf *e, const struct note *n, struct site *s)
{
	const uint8_t *code = elf_bytes(e, n->vaddr, note_nop.len);
	if (!code || !elf_offset_of(e, n->vaddr, &s->offset))
		return ENTRY_NO_CODE;
	if (memcmp(code, note_nop.bytes, note_nop.len))
		return ENTRY_NOTE_NOP;
	return take_semaphore(e, n->semaphore, &s->semaphore) ? take_args(n, s) : ENTRY_NOTE_SEMAPHORE;
}

static int add_note(void *ctx, const struct note *n)
{
	struct finding *f = ctx;
	uint16_t row_no = 0;
	const struct allocator *row = row_of(n, &row_no);
	if (!row)
		return 0;
	if (f->out->sites_cnt == NOTED_MAX)
		return -E2BIG;
	struct site *s = VEC_PUSH(f->out, sites);
	if (!s)
		return -ENOMEM;
	*s = (struct site){ .row = row, .row_no = row_no, .family = row->family, .func = n->vaddr, .vaddr = n->vaddr };
	s->emulated = note_nop.emulated;
	snprintf(s->said, sizeof(s->said), "%s", n->args);
	s->why.choice = choose(f->elf, n, s);
	s->state = s->why.choice == ENTRY_NOTED ? SITE_PROBED : SITE_REFUSED;
	return 0;
}

int noted_find(const struct elf *e, struct site_list *out, struct err *err)
{
	struct finding f = { .elf = e, .out = out };
	*out = (struct site_list){ .program = elf_is_program(e) };
	int rc = notes_each(e, add_note, &f);
	if (rc)
		sites_free(out);
	if (rc == -E2BIG)
		return err_set(err, E2BIG, "it defines more than %d probes for allocations", NOTED_MAX);
	return rc ? err_set(err, ENOMEM, "out of memory") : 0;
}

bool noted_serves(const struct site_list *l)
{
	for (size_t i = 0; i < l->sites_cnt; i++) {
		const struct site *s = &l->sites[i];
		if (s->family == ALLOC_USDT && s->row->shape == ALYS_SHAPE_SIZE && s->state == SITE_PROBED)
			return true;
	}
	return false;
}
