/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf: the few facts that other modules want from an ELF file, read from a descriptor piece by piece
 * into a private copy: what was borrowed stays as it was, even when the file is truncated meanwhile.
 * Knows no processes. The file may be hostile: sizes are checked, errors are said, nothing is trusted.
 */
#ifndef ALYS_ELF_H
#define ALYS_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct elf;

struct elf_segment { /* PT_LOAD */
	uint64_t vaddr, offset, filesz, memsz;
	bool exec;
};

struct elf_mapped { /* a part of the file in a process, as the kernel lists it */
	uint64_t offset, size;
	bool exec;
};

struct elf_symbol {
	const char *name; /* borrowed, without version suffix */
	uint64_t vaddr, size;
	uint8_t type; /* STT_FUNC, STT_OBJECT, STT_TLS, STT_GNU_IFUNC, STT_NOTYPE */
	bool dynamic; /* from .dynsym */
	bool defined; /* false: imported */
};

/* Borrows fd for the life of the elf. name is for messages. x86-64 only: other files are -ENOEXEC. */
struct elf *elf_open(int fd, const char *name, struct err *err);
/* The same of a file that lies in memory; copies it. */
struct elf *elf_open_bytes(const void *bytes, size_t n, const char *name, struct err *err);
void elf_close(struct elf *e);
/* Why a part of the file was not read although it is there; NULL: none was refused. */
const char *elf_refusal(const struct elf *e);

/* Build id bytes, 0 when there is none. */
size_t elf_build_id(const struct elf *e, uint8_t *out, size_t cap);
size_t elf_segments(const struct elf *e, const struct elf_segment **out);
bool elf_is_pie(const struct elf *e); /* ET_DYN */
/* A program, not a library: the loader refuses to load it alone (DF_1_PIE of DT_FLAGS_1, or no position to choose). */
bool elf_is_program(const struct elf *e);
/* Where a program, or a library that is one, begins; 0 = nowhere. */
uint64_t elf_entry(const struct elf *e);
/* Both symbol tables, .dynsym first. fn returns non-zero to stop with that value. */
int elf_each_symbol(const struct elf *e, int (*fn)(void *ctx, const struct elf_symbol *s), void *ctx);
bool elf_has_section(const struct elf *e, const char *name);
/* Bytes of a section (not compressed ones), borrowed; NULL when missing, damaged, without bytes or larger than it can be. */
const uint8_t *elf_section(const struct elf *e, const char *name, size_t *size, uint64_t *vaddr);
/* The index of .eh_frame that a program header names (PT_GNU_EH_FRAME): there without sections, too. */
const uint8_t *elf_eh_frame_hdr(const struct elf *e, size_t *size, uint64_t *vaddr);
/* File bytes behind [vaddr, vaddr+n), borrowed; NULL when not wholly in one file-backed segment. */
const uint8_t *elf_bytes(const struct elf *e, uint64_t vaddr, size_t n);
/* The offset in the file of an address in its image; false when no segment holds it. */
bool elf_offset_of(const struct elf *e, uint64_t vaddr, uint64_t *offset);
/*
 * The address in the file's image at which a mapping begins; false when it shows no segment. One page
 * of the file may be mapped for several segments (lld and mold lay them out so), at an address for each:
 * the mapping's rights and size tell which one it is.
 */
bool elf_mapped_vaddr(const struct elf *e, const struct elf_mapped *m, uint64_t *vaddr);
/* The symbol that a PLT entry at vaddr jumps to, NULL when vaddr is no PLT entry with a known target. */
const char *elf_plt_target(const struct elf *e, uint64_t vaddr);
/* The name of the function that the instruction there jumps to or calls through a slot of the GOT; NULL. */
const char *elf_got_target(const struct elf *e, uint64_t vaddr);
/* The IFUNC that fills this slot, by its address; 0 = none. */
uint64_t elf_got_resolver(const struct elf *e, uint64_t vaddr);
/* The symbol whose address the loader puts into the word at vaddr, NULL when there is none. */
const char *elf_slot_target(const struct elf *e, uint64_t vaddr);

#endif
