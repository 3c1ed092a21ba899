/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf: reads what other modules need from an ELF file, piece by piece, from a descriptor into a private copy: borrowed
 * data stays valid even if the file is truncated meanwhile. Knows nothing of processes. The file may be hostile: sizes
 * are checked, errors are reported, nothing is trusted.
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

struct elf_mapped { /* a mapping of part of the file, as in /proc/PID/maps */
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

/* Borrows fd for the life of the elf. name is for messages. Files of another architecture give -ENOEXEC. */
struct elf *elf_open(int fd, const char *name, struct err *err);
/* The same for a file in memory; copies it. */
struct elf *elf_open_bytes(const void *bytes, size_t n, const char *name, struct err *err);
void elf_close(struct elf *e);
/* Why part of the file was not read; NULL: nothing was refused. */
const char *elf_refusal(const struct elf *e);

/* Build id bytes, 0 when there is none. */
size_t elf_build_id(const struct elf *e, uint8_t *out, size_t cap);
size_t elf_segments(const struct elf *e, const struct elf_segment **out);
bool elf_is_pie(const struct elf *e); /* ET_DYN */
/* A program, not a library: dlopen refuses it (DF_1_PIE in DT_FLAGS_1, or not position-independent). */
bool elf_is_program(const struct elf *e);
/* The entry point of a program, or of an executable library; 0 = none. */
uint64_t elf_entry(const struct elf *e);
/* Both symbol tables, .dynsym first. A non-zero result of fn stops and is returned. */
int elf_each_symbol(const struct elf *e, int (*fn)(void *ctx, const struct elf_symbol *s), void *ctx);
bool elf_has_section(const struct elf *e, const char *name);
/* Bytes of a section, borrowed; NULL if missing, damaged, compressed, empty or implausibly large. */
const uint8_t *elf_section(const struct elf *e, const char *name, size_t *size, uint64_t *vaddr);
/* .eh_frame_hdr by its program header (PT_GNU_EH_FRAME): works without section headers. */
const uint8_t *elf_eh_frame_hdr(const struct elf *e, size_t *size, uint64_t *vaddr);
/* File bytes at [vaddr, vaddr+n), borrowed; NULL unless wholly in one file-backed segment. */
const uint8_t *elf_bytes(const struct elf *e, uint64_t vaddr, size_t n);
/* File offset of an address; false if no segment contains it. */
bool elf_offset_of(const struct elf *e, uint64_t vaddr, uint64_t *offset);
/*
 * The address in the ELF file at which a mapping starts; false if it maps no segment. One page of the file may be
 * mapped for several segments (lld and mold lay them out this way), each at an address of its own: permissions and size
 * of the mapping say which.
 */
bool elf_mapped_vaddr(const struct elf *e, const struct elf_mapped *m, uint64_t *vaddr);
/* The symbol that the PLT entry at vaddr jumps to; NULL: not a PLT entry with a known target. */
const char *elf_plt_target(const struct elf *e, uint64_t vaddr);
/* The function that the instruction there jumps to or calls through a GOT slot; or NULL. */
const char *elf_got_target(const struct elf *e, uint64_t vaddr);
/* The address, in this file, that the word at vaddr has at first; 0 = none. */
uint64_t elf_first_word(const struct elf *e, uint64_t vaddr);
/*
 * The address, in this file, that the word has at first through which the instruction there jumps or calls; 0 = none. The
 * program may have changed it since.
 */
uint64_t elf_first_target(const struct elf *e, uint64_t vaddr);
/* Address of the IFUNC resolver that fills this slot; 0 = none. */
uint64_t elf_got_resolver(const struct elf *e, uint64_t vaddr);
/* The symbol whose address the dynamic linker stores in the word at vaddr; NULL: none. */
const char *elf_slot_target(const struct elf *e, uint64_t vaddr);

#endif
