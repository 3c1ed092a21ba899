/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/bottom: see bottom.h. */
#include "unwind/bottom.h"

#include <string.h>

#define CONTEXT_MAX 128 /* bytes of glibc's __start_context, with room for shadow stacks */

/* Searches the bytes: iterating over the names of a large program would take longer than compiling its rows. */
static bool has_name(const struct elf *e, const char *section, const char *name)
{
	size_t size, n = strlen(name) + 1;
	const uint8_t *names = elf_section(e, section, &size, NULL);
	return names && memmem(names, size, name, n);
}

void bottom_find(const struct elf *e, struct bottom *out)
{
	bool dynamic = elf_has_section(e, ".dynsym");
	*out = (struct bottom){
		.e = e,
		.entry = elf_entry(e),
		.contexts = has_name(e, dynamic ? ".dynstr" : ".strtab", "makecontext"),
	};
}

bool bottom_is_context(const struct bottom *b, uint64_t lo, uint64_t hi)
{
	/* mov %rbx,%rsp; mov (%rsp),%rdi: the next context lies where the function found its stack. */
	static const uint8_t code[] = { 0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24 };
	if (!b->contexts || hi - lo > CONTEXT_MAX)
		return false;
	const uint8_t *p = elf_bytes(b->e, lo, hi - lo);
	return p && memmem(p, hi - lo, code, sizeof(code));
}
