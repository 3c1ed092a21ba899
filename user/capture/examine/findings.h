/* SPDX-License-Identifier: Apache-2.0 */
/*
 * examine/findings: what is to be known of a mapped file before it is traced: its outline, where probes go in it, and
 * its unwind rows. As bytes, on the way from the process that reads the file (examine/examiner) to the recording.
 */
#ifndef ALYS_EXAMINE_FINDINGS_H
#define ALYS_EXAMINE_FINDINGS_H

#include "base/buf.h"
#include "base/err.h"
#include "elf/elf.h"
#include "event/event.h"
#include "sites/collections.h"
#include "sites/sites.h"
#include "unwind/unwind.h"

/* Parts of it: what is asked for, and what is there. */
enum { FINDINGS_OUTLINE = 1, FINDINGS_SITES = 2, FINDINGS_ROWS = 4, FINDINGS_START = 8 };

struct findings {
	struct module_id module;
	uint32_t asked, parts; /* what was asked for; what is there: nothing when it failed */
	struct err failed;     /* of the whole file: no ELF file, or it could not be read to its end */
	char refused[80];      /* why a part of it was not read, as of elf_refusal; "" = all were */
	struct elf *outline;   /* NULL: no ELF file */
	bool starts_programs;  /* a C library: the start of programs is in it */
	struct {
		struct err err;        /* why list is empty; code 0: because there is nothing in it */
		struct site_list list, /* as wanted: with refills or without */
			proof,         /* the same without cheap exits: what a trial compares with */
			calls, plain;  /* these two without refills: what a calibration tries, and what it falls back to */
		uint64_t link_offset;  /* of a dynamic linker, see probe/linker.h; 0 = it is none */
		struct collection_sites collections; /* of a collector */
		char unwatched[300];                 /* why there are none of these, "" = there are */
	} sites;
	struct {
		struct err err; /* why table is NULL */
		struct unwind_table *table;
	} rows;
};

struct findings_ask {
	uint32_t parts, families; /* families: as in struct sites_options */
	bool refill;
};

/* Looks into the file, here and now: for a process without rights. */
void findings_make(int fd, const char *path, const struct findings_ask *ask, struct buf *out);
/* 0, then findings_free; -EPROTO: these are not the bytes of the parts that were asked for; -ENOMEM. */
int findings_read(const void *bytes, size_t n, uint32_t parts, struct findings *out);
void findings_free(struct findings *f);

#endif
