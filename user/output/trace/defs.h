/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace/defs: serialization of definitions. A FRAME_DEFS payload is a sequence of records {varint kind, varint length,
 * body}; newer versions append fields to a body and add kinds, and both are skipped here. Private to this module.
 */
#ifndef ALYS_TRACE_DEFS_H
#define ALYS_TRACE_DEFS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "catalog/catalog.h"

enum def_kind {
	DEF_META = 1,
	DEF_PROC = 2,
	DEF_MODULE = 3,
	DEF_MAPPING = 4,
	DEF_STACK = 5,
	DEF_SYMBOLS = 6,
	DEF_COUNT = 7,
	DEF_OLDER = 8,
	DEF_CALLED = 9,
	DEF_ERLANG_PROCESS = 10,
};

/* Bodies only; the caller writes kind and length. */
void def_meta(struct buf *b, const char *key, const char *value);
void def_proc(struct buf *b, const struct proc *p);
void def_module(struct buf *b, const struct module *m);
void def_mapping(struct buf *b, const struct mapping *m);
void def_stack(struct buf *b, const struct stack *s);
void def_symbols(struct buf *b, struct module_id m, uint64_t pc, const struct symbols *s);
void def_count(struct buf *b, const struct count *n);
void def_older(struct buf *b, const struct older *o);
void def_called(struct buf *b, const struct called *n);
void def_erlang_process(struct buf *b, const struct erlang_process *w);

struct def_scratch; /* room for the texts and frames of one record */
struct def_scratch *def_scratch_new(void);
void def_scratch_free(struct def_scratch *s);
/* Adds all records to the catalog. 0, -ENOMEM, or -EBADMSG if one is malformed. */
int defs_decode(const void *data, size_t n, struct def_scratch *s, struct catalog *c);

#endif
