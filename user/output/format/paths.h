/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format/paths: display stacks by content, numbered in order of arrival: equal-looking stacks of two processes are one
 * path, unless types are kept apart and differ. A zeroed struct with catalog, options and label set is empty. Private
 * to format/ and sink/.
 */
#ifndef ALYS_FORMAT_PATHS_H
#define ALYS_FORMAT_PATHS_H

#include "format/field_names.h"
#include "format/sink.h"

struct paths {
	const struct catalog *catalog;
	const struct sink_options *options;
	/* The identity of a frame; may contain NUL bytes. */
	void (*label)(const struct sink_frame *f, const struct sink_options *o, struct buf *out);
	bool typed;         /* paths have types */
	struct names types; /* 0 is NO_TYPE, as soon as there is a path */
	struct names labels;
	struct names runs; /* a path's type, then its frames as label numbers, innermost first */
	struct map of_stack;
	struct sink_stack stack, whole;
	struct buf text, run;
};

/* NAMES_FAILED when out of memory. */
uint32_t paths_of(struct paths *p, struct stack_id id);
size_t paths_cnt(const struct paths *p);
size_t paths_depth(const struct paths *p, uint32_t path);
/* Number of its type, 0 unless typed. */
uint32_t paths_type(const struct paths *p, uint32_t path);
/* Number of the label of frame i, 0 = innermost. */
uint32_t paths_frame(const struct paths *p, uint32_t path, size_t i);
/* Borrowed until the next paths_of. */
const char *paths_label(const struct paths *p, uint32_t label);
void paths_free(struct paths *p);

/* "0x1234: func (file.c:12)" or "(in /lib/x.so)", in valgrind's notation. */
void paths_label_valgrind(const struct sink_frame *f, const struct sink_options *o, struct buf *out);
/* Name, file, line as text, module: each ended by a NUL but the last. */
void paths_label_source(const struct sink_frame *f, const struct sink_options *o, struct buf *out);
/* The first n parts of such a label. */
void paths_split(const char *label, size_t n, const char **parts);

#endif
