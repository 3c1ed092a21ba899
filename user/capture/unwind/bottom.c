/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/bottom: see bottom.h. */
#include "unwind/bottom.h"

#include <string.h>

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
		.signal_return = bottom_signal_return(e),
		.plt = bottom_plt(e),
		.contexts = has_name(e, dynamic ? ".dynstr" : ".strtab", "makecontext"),
	};
}
