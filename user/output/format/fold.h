/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format/fold: a snapshot as stacks of names, root first, with one value each. Names are numbered
 * in the order of their bytes, so stacks compare as numbers and no id of a recording shows in an
 * output's order. Not for other modules.
 *
 *   main -> parse -> read  96      names 0 "main" 1 "parse" 2 "read"     frames 0 1 2 | 0 2
 *   main -> read           64      stacks {first 0, n 3, value 96} {first 3, n 2, value 64}
 */
#ifndef ALYS_FORMAT_FOLD_H
#define ALYS_FORMAT_FOLD_H

#include "format/field_names.h"
#include "format/format.h"

struct fold_stack {
	int64_t value;
	int64_t before; /* in the earlier recording of options.before; else 0 */
	size_t first;   /* into frames, root */
	uint32_t n;
	uint32_t row; /* of the snapshot; after fold_merge, of one of those merged */
};

struct fold {
	struct names names;
	bool resolved;   /* some name comes from a file's symbols: somebody looked them up */
	uint32_t *order; /* number -> id in names */
	struct names files;
	uint32_t *modules; /* id in names -> id in files: the module a name belongs to */
	size_t modules_cnt, modules_cap;
	struct fold_stack *stacks;
	size_t stacks_cnt, stacks_cap;
	uint32_t *frames;
	size_t frames_cnt, frames_cap;
	bool placed;         /* set before fold_fill: keep where frames are */
	struct names places; /* "file:line", "" when not known */
	uint32_t *at;        /* as many as frames: ids in places, with FOLD_SEVERAL */
	size_t at_cnt, at_cap;
};

/* The first of several places: stacks of equal names can be of different lines. */
#define FOLD_SEVERAL (1u << 31)

/*
 * One stack for each row of the snapshot, and of that of options.before, sorted by content. 0 or
 * -ENOMEM; then fold_free.
 */
int fold_fill(struct fold *f, const struct sink_input *in, enum value v);
/* Stacks of equal content become one; stacks of no value, now or before, go. */
void fold_merge(struct fold *f);
/* Highest value first, then by content. */
void fold_rank(struct fold *f);
const char *fold_name(const struct fold *f, uint32_t number);
/* File name of the module, "" when not known. */
const char *fold_module(const struct fold *f, uint32_t number);
/* Of fold.at; several tells that there are others. */
const char *fold_place(const struct fold *f, uint32_t at, bool *several);
void fold_free(struct fold *f);

#endif
