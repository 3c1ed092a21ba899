/* SPDX-License-Identifier: Apache-2.0 */
/* Arbitrary bytes as the notes of an ELF file, and as the arguments of a probe. */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/arch.h"
#include "notes/notes.h"
#include "sites/listing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NAMES "\0.note.stapsdt\0.shstrtab"

/* Headers and section names, followed by the notes. */
struct file {
	Elf64_Ehdr head;
	Elf64_Shdr sections[3];
	char names[sizeof(NAMES)];
};

static volatile uint64_t sink;

static int look(void *ctx, const struct note *n)
{
	struct alys_note_arg a[ALYS_NOTE_ARGS];
	(void)ctx;
	int got = note_args(n->args, a, ALYS_NOTE_ARGS);
	for (int i = 0; got >= 0 && i < ALYS_NOTE_ARGS; i++) {
		if (!note_arg_ok(&a[i]))
			abort();
	}
	sink += strlen(n->provider) + strlen(n->name) + n->vaddr + n->semaphore;
	return 0;
}

static void as_notes(const uint8_t *data, size_t size)
{
	struct file *f = calloc(1, sizeof(*f) + size);
	if (!f)
		return;
	memcpy(f->head.e_ident, ELFMAG, SELFMAG);
	f->head.e_ident[EI_CLASS] = ELFCLASS64;
	f->head.e_ident[EI_DATA] = ELFDATA2LSB;
	f->head.e_ident[EI_VERSION] = EV_CURRENT;
	f->head.e_type = ET_DYN;
	f->head.e_machine = elf_arch.machine;
	f->head.e_version = EV_CURRENT;
	f->head.e_ehsize = sizeof(f->head);
	f->head.e_shoff = offsetof(struct file, sections);
	f->head.e_shentsize = sizeof(f->sections[0]);
	f->head.e_shnum = 3;
	f->head.e_shstrndx = 2;
	f->sections[1] =
		(Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_NOTE, .sh_offset = sizeof(*f), .sh_size = size, .sh_addralign = 4 };
	f->sections[2] = (Elf64_Shdr){
		.sh_name = 15, .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct file, names), .sh_size = sizeof(f->names)
	};
	memcpy(f->names, NAMES, sizeof(NAMES));
	memcpy(f + 1, data, size);
	struct elf *e = elf_open_bytes(f, sizeof(*f) + size, "fuzz", NULL);
	if (e)
		notes_each(e, look, NULL);
	elf_close(e);
	free(f);
}

static void as_arguments(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = 0;
	look(NULL, &(struct note){ .provider = "", .name = "", .args = text });
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	as_notes(data, size);
	as_arguments(data, size);
	return 0;
}
