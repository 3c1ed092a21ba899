/* SPDX-License-Identifier: Apache-2.0 */
/* elf/outline: see outline.h. */
#include "elf/outline.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "elf/file.h"

void elf_outline_write(const struct elf *e, struct buf *out)
{
	buf_u8(out, e->pie);
	buf_varint(out, e->entry);
	buf_varint(out, e->build_id_sz);
	buf_add(out, e->build_id, e->build_id_sz);
	buf_varint(out, e->segments_cnt);
	for (size_t i = 0; i < e->segments_cnt; i++) {
		const struct elf_segment *s = &e->segments[i];
		buf_varint(out, s->vaddr);
		buf_varint(out, s->offset);
		buf_varint(out, s->filesz);
		buf_varint(out, s->memsz);
		buf_u8(out, s->exec);
	}
}

static bool read_segment(struct cursor *c, struct elf *e)
{
	struct elf_segment *s = VEC_PUSH(e, segments);
	if (!s)
		return false;
	s->vaddr = cursor_varint(c);
	s->offset = cursor_varint(c);
	s->filesz = cursor_varint(c);
	s->memsz = cursor_varint(c);
	s->exec = cursor_u8(c);
	return !c->bad && s->vaddr + s->memsz >= s->vaddr && s->offset + s->filesz >= s->offset && s->filesz <= s->memsz;
}

static bool read_outline(struct cursor *c, struct elf *e)
{
	e->pie = cursor_u8(c);
	e->entry = cursor_varint(c);
	e->build_id_sz = cursor_varint(c);
	if (e->build_id_sz > sizeof(e->build_id))
		return false;
	const void *id = cursor_bytes(c, e->build_id_sz);
	if (id)
		memcpy(e->build_id, id, e->build_id_sz);
	for (uint64_t n = cursor_varint(c); n && !c->bad; n--) {
		if (!read_segment(c, e))
			return false;
	}
	return !c->bad;
}

struct elf *elf_outline_read(struct cursor *c)
{
	struct elf *e = calloc(1, sizeof(*e));
	if (e && (e->cache = calloc(1, sizeof(*e->cache))) && read_outline(c, e))
		return e;
	elf_close(e);
	return NULL;
}
