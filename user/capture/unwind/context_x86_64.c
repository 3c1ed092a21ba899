/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/context of x86-64: see bottom.h. */
#include <string.h>

#include "unwind/bottom.h"

#define CONTEXT_MAX 128 /* bytes of glibc's __start_context, with room for shadow stacks */

bool bottom_is_context(const struct bottom *b, uint64_t lo, uint64_t hi)
{
	/* mov %rbx,%rsp; mov (%rsp),%rdi: the next context lies where the function found its stack. */
	static const uint8_t code[] = { 0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24 };
	if (!b->contexts || hi - lo > CONTEXT_MAX)
		return false;
	const uint8_t *p = elf_bytes(b->e, lo, hi - lo);
	return p && memmem(p, hi - lo, code, sizeof(code));
}

/* glibc describes its own, the kernel has none. */
uint64_t bottom_signal_return(const struct elf *e)
{
	(void)e;
	return 0;
}

/* Linkers describe it, where it has more than one row. */
struct bottom_plt bottom_plt(const struct elf *e)
{
	(void)e;
	return (struct bottom_plt){ 0 };
}
