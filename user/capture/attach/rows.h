/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach/rows: what the stack walk in the kernel needs of a file and of a process: unwind rows, once
 * a file, and the list of mappings, each time it changes.
 */
#ifndef ALYS_ATTACH_ROWS_H
#define ALYS_ATTACH_ROWS_H

#include "attach/study.h"
#include "base/map.h"
#include "catalog/catalog.h"
#include "recording/handles.h"

/* Why a file has no unwind rows. */
enum rowless { ROWLESS_NO_EH_FRAME, ROWLESS_DEBUG_FRAME, ROWLESS_DAMAGED, ROWLESS_OTHER, ROWLESS_CNT };

struct rows {
	const struct handles *h;
	struct study *study;
	struct map asked;              /* modules whose rows are on their way */
	struct map unlisted;           /* modules whose rows are there, but not yet in the lists of processes that map them */
	uint64_t listed_ns;            /* when they were put there last */
	uint64_t without[ROWLESS_CNT]; /* files whose frames are walked by frame pointer */
};

/* The kernel's walk goes by rows at all. */
bool rows_are_used(const struct rows *r);

/* FINDINGS_ROWS when the file's rows are wanted, not there and not on their way yet: then whoever asks this asks for them. */
uint32_t rows_wanted(struct rows *r, const struct module *m);
/*
 * They are there: what is in f is taken. A file without usable rows is noted in the counters; its frames are walked by
 * frame pointer.
 */
void rows_found(struct rows *r, struct findings *f);
/* The process' mappings are others than before. Asks for the rows of files that nobody asked for. */
void rows_map(struct rows *r, const struct proc *p);
/* Rows came while processes had the file mapped already: they are listed when rows_list is called, or in a moment. */
void rows_note(struct rows *r, struct module_id module);
void rows_list(struct rows *r);
/* To be called often. busy: others are to come. */
void rows_look(struct rows *r, bool busy, uint64_t now_ns);
void rows_free(struct rows *r);

#endif
