/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/section: see section.h. The index: LSB core specification, "DWARF extensions". */
#include "unwind/section.h"

#include <dwarf.h>
#include <errno.h>

#include "base/cursor.h"

/* What all linkers write: an address relative to itself, a plain count, pairs relative to the index. */
#define FRAME_ENC (DW_EH_PE_pcrel | DW_EH_PE_sdata4)
#define COUNT_ENC DW_EH_PE_udata4
#define TABLE_ENC (DW_EH_PE_datarel | DW_EH_PE_sdata4)

static uint64_t read_near(struct cursor *c, uint64_t base)
{
	return base + (uint64_t)(int64_t)(int32_t)cursor_le(c, 4);
}

/* Where the entry at vaddr ends, 0 when that is not in the file. */
static uint64_t entry_end(const struct elf *e, uint64_t vaddr)
{
	const uint8_t *head = elf_bytes(e, vaddr, 4);
	struct cursor c = cursor_over(head, 4);
	uint64_t len = head ? cursor_le(&c, 4) : 0;
	return len && len < 0xfffffff0 ? vaddr + 4 + len : 0;
}

/*
 * Without section headers (`strip --strip-section-headers`, packers) the index still says where
 * .eh_frame begins, and which entry is the last one.
 */
static bool find_by_index(const struct elf *e, struct unwind_section *s)
{
	size_t size;
	uint64_t at, last = 0;
	const uint8_t *bytes = elf_eh_frame_hdr(e, &size, &at);
	struct cursor c = cursor_over(bytes, bytes ? size : 0);
	uint8_t version = cursor_u8(&c), frame = cursor_u8(&c), count = cursor_u8(&c), table = cursor_u8(&c);
	if (version != 1 || frame != FRAME_ENC || count != COUNT_ENC || table != TABLE_ENC)
		return false;
	s->vaddr = read_near(&c, at + 4);
	for (uint64_t n = cursor_le(&c, 4); n && cursor_left(&c) >= 8; n--) {
		cursor_le(&c, 4);
		uint64_t entry = read_near(&c, at);
		last = entry > last ? entry : last;
	}
	uint64_t end = last ? entry_end(e, last) : 0;
	if (c.bad || end <= s->vaddr)
		return false;
	s->size = (size_t)(end - s->vaddr);
	s->bytes = elf_bytes(e, s->vaddr, s->size);
	return s->bytes != NULL;
}

static void find_text(const struct elf *e, struct unwind_section *s)
{
	const struct elf_segment *seg;
	size_t n = elf_segments(e, &seg);
	s->text_lo = UINT64_MAX;
	for (size_t i = 0; i < n; i++) {
		if (!seg[i].exec || seg[i].memsz > SECTION_TEXT_MAX || seg[i].vaddr > UINT64_MAX - SECTION_TEXT_MAX)
			continue;
		s->text_lo = seg[i].vaddr < s->text_lo ? seg[i].vaddr : s->text_lo;
		if (seg[i].vaddr + seg[i].memsz > s->text_hi)
			s->text_hi = seg[i].vaddr + seg[i].memsz;
	}
}

int section_find(const struct elf *e, struct unwind_section *s, struct err *err)
{
	*s = (struct unwind_section){ 0 };
	find_text(e, s);
	s->bytes = elf_section(e, ".eh_frame", &s->size, &s->vaddr);
	if ((s->bytes || find_by_index(e, s)) && s->text_hi)
		return 0;
	if (elf_refusal(e))
		return err_set(err, EFBIG, "its unwind information is not read: %s", elf_refusal(e));
	if (elf_has_section(e, ".debug_frame"))
		return err_set(err, ENOTSUP, "no .eh_frame, and .debug_frame is not read");
	return err_set(err, ENODATA, "no .eh_frame");
}
