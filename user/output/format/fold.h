/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format/fold: a snapshot as stacks of names, root first, with one value each. Names are numbered in byte order, so
 * stacks compare as numbers and output does not depend on ids of the recording. Private to format/ and sink/.
 *
 *   main -> parse -> read  96      names 0 "main" 1 "parse" 2 "read"     frames 0 1 2 
 *  0 2
 *   main -> read           64      stacks {first 0, n 3, value 96} {first 3, n 2, value 64}
 */
#ifndef ALYS_FORMAT_FOLD_H
#define ALYS_FORMAT_FOLD_H

#include "format/field_names.h"
#include "format/format.h"

struct fold_stack {
	int64_t value;
	int64_t before; /* in the recording to compare with (options.before); else 0 */
	size_t first;   /* index into frames, root first */
	uint32_t n;
	uint32_t row; /* of the snapshot; after fold_merge, of one of those merged */
};

struct fold {
	struct names names;
	bool resolved;   /* some name comes from symbols: the recording was symbolized */
	uint32_t *order; /* number -> id in names */
	struct names files;
	uint32_t *modules; /* id in names -> id in files: the module a name belongs to */
	size_t modules_cnt, modules_cap;
	struct fold_stack *stacks;
	size_t stacks_cnt, stacks_cap;
	uint32_t *frames;
	size_t frames_cnt, frames_cap;
	bool placed;         /* set before fold_fill: keep source locations */
	struct names places; /* "file:line", "" if unknown */
	uint32_t *at;        /* as many as frames: ids in places, with FOLD_SEVERAL */
	size_t at_cnt, at_cap;
};

/* Flag: the first of several locations, since stacks with equal names can differ in lines. */
#define FOLD_SEVERAL (1u << 31)

/*
 * One stack for each row of the snapshot, and of that of options.before, sorted by content. 0 or
 * -ENOMEM; then fold_free.
 */
int fold_fill(struct fold *f, const struct sink_input *in, enum value v);
/* Merges stacks with equal content; drops those without value, now or before. */
void fold_merge(struct fold *f);
/* Highest value first, then by content. */
void fold_rank(struct fold *f);
const char *fold_name(const struct fold *f, uint32_t number);
/* File name of the module, "" if unknown. */
const char *fold_module(const struct fold *f, uint32_t number);
/* For fold.at; several: there are others. */
const char *fold_place(const struct fold *f, uint32_t at, bool *several);
void fold_free(struct fold *f);

#endif
