/* SPDX-License-Identifier: Apache-2.0 */
/* Arbitrary bytes as the code of malloc, free, GC_malloc_kind and GC_get_total_bytes, for this program's machine. */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/arch.h"
#include "finder/find.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NAMES "\0malloc\0free\0GC_malloc_kind\0GC_get_total_bytes\0.symtab\0.strtab"
#define SIZE_MAX_FUZZED 65536

/* A segment of code, and symbols that name its thirds, the second one twice. */
struct file {
	Elf64_Ehdr head;
	Elf64_Phdr load;
	Elf64_Shdr sections[3];
	Elf64_Sym symbols[5];
	char names[sizeof(NAMES)];
};

static Elf64_Sym symbol(uint32_t name, uint64_t value, uint64_t size)
{
	return (Elf64_Sym){
		.st_name = name, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1, .st_value = value, .st_size = size
	};
}

static void lay_out(struct file *f, size_t size)
{
	uint64_t code = (sizeof(*f) + 15) / 16 * 16, third = size / 12 * 4;
	memcpy(f->head.e_ident, ELFMAG, SELFMAG);
	f->head.e_ident[EI_CLASS] = ELFCLASS64;
	f->head.e_ident[EI_DATA] = ELFDATA2LSB;
	f->head.e_ident[EI_VERSION] = EV_CURRENT;
	f->head.e_type = ET_DYN;
	f->head.e_machine = elf_arch.machine;
	f->head.e_version = EV_CURRENT;
	f->head.e_ehsize = sizeof(f->head);
	f->head.e_phoff = offsetof(struct file, load);
	f->head.e_phentsize = sizeof(f->load);
	f->head.e_phnum = 1;
	f->head.e_shoff = offsetof(struct file, sections);
	f->head.e_shentsize = sizeof(f->sections[0]);
	f->head.e_shnum = 3;
	f->head.e_shstrndx = 2;
	f->load = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = code + size, .p_memsz = code + size, .p_align = 4096
	};
	f->sections[1] = (Elf64_Shdr){ .sh_name = 47,
				       .sh_type = SHT_SYMTAB,
				       .sh_offset = offsetof(struct file, symbols),
				       .sh_size = sizeof(f->symbols),
				       .sh_link = 2,
				       .sh_entsize = sizeof(Elf64_Sym) };
	f->sections[2] = (Elf64_Shdr){
		.sh_name = 55, .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct file, names), .sh_size = sizeof(f->names)
	};
	f->symbols[1] = symbol(1, code, third);
	f->symbols[2] = symbol(8, code + third, third);
	f->symbols[3] = symbol(13, code + 2 * third, size - 2 * third);
	f->symbols[4] = symbol(28, code + third, third);
	memcpy(f->names, NAMES, sizeof(NAMES));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t code = (sizeof(struct file) + 15) / 16 * 16;
	struct sites_options o = { .cheap_exits = true, .refill = size % 2 };
	struct err err = { 0 };
	if (size > SIZE_MAX_FUZZED)
		return 0;
	uint8_t *bytes = calloc(1, code + size);
	if (!bytes)
		return 0;
	lay_out((struct file *)bytes, size);
	if (size)
		memcpy(bytes + code, data, size);
	struct elf *e = elf_open_bytes(bytes, code + size, "fuzzed", &err);
	struct site_list l;
	if (!e)
		abort();
	if (!sites_find(e, "fuzzed", &o, &l, &err)) {
		struct buf text = { 0 };
		/* They are there: what is found in them is arbitrary. */
		if (size >= 12 && l.sites_cnt != 3)
			abort();
		sites_print(&l, &text);
		buf_free(&text);
		sites_free(&l);
	}
	elf_close(e);
	free(bytes);
	return 0;
}
