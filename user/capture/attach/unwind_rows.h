/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach/unwind_rows: supplies the stack walk in the kernel with unwind rows, once per file, and with the mappings of each
 * process whenever they change.
 */
#ifndef ALYS_ATTACH_UNWIND_ROWS_H
#define ALYS_ATTACH_UNWIND_ROWS_H

#include "attach/study.h"
#include "base/map.h"
#include "catalog/catalog.h"
#include "recording/handles.h"

/* Why a file has no unwind rows. */
enum rowless { ROWLESS_NO_EH_FRAME, ROWLESS_DEBUG_FRAME, ROWLESS_DAMAGED, ROWLESS_OTHER, ROWLESS_CNT };

struct rows {
	const struct handles *h;
	struct study *study;
	struct map asked;              /* modules whose rows have been requested */
	struct map unlisted;           /* modules with rows that are not yet in the lists of the processes that map them */
	uint64_t listed_ns;            /* time of the last update */
	uint64_t without[ROWLESS_CNT]; /* files whose frames are walked by frame pointer */
};

/* The kernel's walk uses rows at all. */
bool rows_are_used(const struct rows *r);

/* FINDINGS_ROWS if the file's rows are needed and neither present nor requested; the caller must then request them. */
uint32_t rows_wanted(struct rows *r, const struct module *m);
/*
 * Rows have arrived; takes them from f. A file without usable rows is counted; its frames are walked by frame pointer.
 */
void rows_found(struct rows *r, struct findings *f);
/* The process' mappings have changed. Requests rows of files not requested so far. */
void rows_map(struct rows *r, const struct proc *p);
/* Rows arrived for a file that processes have already mapped: they are listed by the next rows_list, or soon by rows_look. */
void rows_note(struct rows *r, struct module_id module);
void rows_list(struct rows *r);
/* Call often. busy: more rows are expected. */
void rows_look(struct rows *r, bool busy, uint64_t now_ns);
void rows_free(struct rows *r);

#endif
