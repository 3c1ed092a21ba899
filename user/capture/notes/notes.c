/* SPDX-License-Identifier: Apache-2.0 */
/* notes: see notes.h. */
#include "notes/notes.h"

#include <elf.h>
#include <string.h>

#include "base/cursor.h"

#define OWNER "stapsdt"
#define TYPE 3
#define ALIGNED(n) (((n) + 3) & ~(uint64_t)3)

/* The rest of a cursor up to the next NUL; NULL: there is none. */
static const char *take_text(struct cursor *c)
{
	const char *text = (const char *)c->at;
	size_t left = cursor_left(c), n = left ? strnlen(text, left) : 0;
	return n < left && cursor_bytes(c, n + 1) ? text : NULL;
}

/* `base`: how far the file was moved since its notes were written (prelink), by a section that exists for that. */
static bool take_note(struct cursor desc, uint64_t base, struct note *out)
{
	uint64_t vaddr = cursor_le(&desc, 8), noted_base = cursor_le(&desc, 8), semaphore = cursor_le(&desc, 8);
	uint64_t moved = base && noted_base ? base - noted_base : 0;
	*out = (struct note){ .vaddr = vaddr + moved, .semaphore = semaphore ? semaphore + moved : 0 };
	out->provider = take_text(&desc);
	out->name = out->provider ? take_text(&desc) : NULL;
	out->args = out->name ? take_text(&desc) : NULL;
	return out->args;
}

static uint64_t base_of(const struct elf *e)
{
	uint64_t vaddr = 0;
	size_t size;
	return elf_section(e, ".stapsdt.base", &size, &vaddr) ? vaddr : 0;
}

int notes_each(const struct elf *e, int (*fn)(void *ctx, const struct note *n), void *ctx)
{
	size_t size;
	uint64_t at;
	const uint8_t *bytes = elf_section(e, ".note.stapsdt", &size, &at);
	struct cursor c = cursor_over(bytes, bytes ? size : 0);
	uint64_t base = bytes ? base_of(e) : 0;
	int rc = 0;
	while (!rc && cursor_left(&c) >= sizeof(Elf64_Nhdr)) {
		uint64_t name_sz = cursor_le(&c, 4), desc_sz = cursor_le(&c, 4), type = cursor_le(&c, 4);
		const char *owner = cursor_bytes(&c, ALIGNED(name_sz));
		struct cursor desc = cursor_sub(&c, ALIGNED(desc_sz));
		struct note n;
		if (c.bad)
			break;
		if (type == TYPE && name_sz == sizeof(OWNER) && !memcmp(owner, OWNER, sizeof(OWNER)) && take_note(desc, base, &n))
			rc = fn(ctx, &n);
	}
	return rc;
}
