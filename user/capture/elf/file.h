/* SPDX-License-Identifier: Apache-2.0 */
/* elf/file: internals shared by this module: the open ELF file and its section headers. */
#ifndef ALYS_ELF_FILE_H
#define ALYS_ELF_FILE_H

#include <elf.h>

#include "base/map.h"
#include "elf/elf.h"
#include "elf/image.h"

struct elf_cache {
	struct image image;
	struct map names;     /* offset of a name in the file -> copy without version suffix */
	struct map joined;    /* number of a dynamic symbol -> copy of name and version */
	struct map versions;  /* number of a version definition -> its name */
	struct map targets;   /* address of a GOT slot -> name */
	struct map resolvers; /* address of a GOT slot -> the IFUNC that fills it */
	bool targets_ready, versions_ready;
};

struct elf {
	struct elf_cache *cache; /* filled lazily while the rest stays const */
	struct elf_segment *segments;
	size_t segments_cnt, segments_cap;
	bool pie;
	uint64_t entry;
	uint64_t shoff;
	uint32_t shnum, shstrndx;
	uint64_t eh_frame_hdr, eh_frame_hdr_sz; /* PT_GNU_EH_FRAME */
	uint8_t build_id[64];
	size_t build_id_sz;
};

bool elf_section_header(const struct elf *e, uint32_t index, Elf64_Shdr *out);
/* The section's bytes; NULL if it has none in the file, is compressed or exceeds the file. */
const uint8_t *elf_section_bytes(const struct elf *e, const Elf64_Shdr *sh);
bool elf_section_find(const struct elf *e, const char *name, Elf64_Shdr *out);
/* Full name of dynamic symbol number index: Crystal puts its second half into the version. */
const char *elf_joined_name(const struct elf *e, size_t index, const char *name);

#endif
