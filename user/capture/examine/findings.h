/* SPDX-License-Identifier: Apache-2.0 */
/*
 * examine/findings: everything that must be known about a mapped file before it is traced: outline, probe sites and
 * unwind rows. Serialized on the way from the process that reads the file (examine/examiner) to the recording.
 */
#ifndef ALYS_EXAMINE_FINDINGS_H
#define ALYS_EXAMINE_FINDINGS_H

#include "base/buf.h"
#include "base/err.h"
#include "elf/elf.h"
#include "event/event.h"
#include "functions/functions.h"
#include "sites/collections.h"
#include "sites/sites.h"
#include "unwind/unwind.h"

/* Parts: requested, and present. */
enum {
	FINDINGS_OUTLINE = 1,
	FINDINGS_SITES = 2,
	FINDINGS_ROWS = 4,
	FINDINGS_START = 8,
	FINDINGS_FUNCTIONS = 16,
	FINDINGS_INLINED = 32
};

struct findings {
	struct module_id module;
	uint32_t asked, parts; /* what was requested; what is present: nothing after a failure */
	struct err failed;     /* for the whole file: not an ELF file, or unreadable */
	char refused[80];      /* why part of it was not read, see elf_refusal; "" = all was */
	struct elf *outline;   /* NULL: no ELF file */
	bool starts_programs;  /* a C library with the program start code */
	struct {
		struct err err;                      /* why list is empty; code 0: the file has no allocators */
		struct site_list list,               /* as requested: with refills or without */
			proof,                       /* the same without cheap exits: the reference for trials */
			calls, plain;                /* both without refills: what a calibration tests, and its fallback */
		uint64_t link_offset;                /* of a dynamic linker, see probe/linker.h; 0 = not a dynamic linker */
		struct collection_sites collections; /* of a collector */
		enum gc_unseen unseen;               /* why there are none */
	} sites;
	struct {
		struct err err; /* why table is NULL */
		struct unwind_table *table;
	} rows;
	struct function_list functions; /* chosen by --calls */
	struct inlined_list inlined;    /* copies of these */
};

struct findings_ask {
	uint32_t parts, families;       /* families: as in struct sites_options */
	bool refill, at_entry;          /* likewise */
	struct functions_ask functions; /* for FINDINGS_FUNCTIONS and FINDINGS_INLINED; the patterns are borrowed */
};

/* Examines the file, in this process: must be unprivileged. */
void findings_make(int fd, const char *path, const struct findings_ask *ask, struct buf *out);
/* 0, then findings_free; -EPROTO: not the requested parts; -ENOMEM. */
int findings_read(const void *bytes, size_t n, uint32_t parts, struct findings *out);
void findings_free(struct findings *f);

#endif
