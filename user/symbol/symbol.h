/*
 * symbol: addresses in ELF files to names, files and lines, inlined calls included. Best effort: an
 * address always gets an answer, its quality says how good. libdw does the reading.
 * One thread. Files are opened once and kept.
 */
#ifndef ALYS_SYMBOL_H
#define ALYS_SYMBOL_H

#include <stdint.h>

#include "base/err.h"
#include "catalog/catalog.h"

enum symbol_depth {
	SYMBOL_DEPTH_NAME, /* function names from symbol tables only */
	SYMBOL_DEPTH_FULL, /* names, files, lines and inlined calls */
};

struct symbolizer;

struct symbolizer *symbolizer_new(enum symbol_depth depth);
void symbolizer_free(struct symbolizer *s);
/* Lends an open file to answer for a module (kept open by the caller); path is for messages and debug links. */
int symbolizer_add_file(struct symbolizer *s, struct module_id m, int fd, const char *path, struct err *err);
/*
 * Fills the catalog with symbols for every distinct (module, pc) of its stacks; those it has already
 * are left alone. progress (may be NULL) is called with done and total now and then.
 */
int symbolizer_run(struct symbolizer *s, struct catalog *c,
		   void (*progress)(void *ctx, uint64_t done, uint64_t total), void *ctx,
		   struct err *err);

#endif
