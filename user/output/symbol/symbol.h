/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol: addresses in ELF files to names, files and lines, inlined calls included. Best effort: an
 * address always gets an answer, its quality says how good. The files are read by worker processes
 * without rights (worker.h), one a file; here their answers are checked and put into the catalog.
 * One thread.
 */
#ifndef ALYS_SYMBOL_H
#define ALYS_SYMBOL_H

#include "base/err.h"
#include "catalog/catalog.h"
#include "symbol/config.h"

struct symbolizer;

/* Copies the config. */
struct symbolizer *symbolizer_new(const struct symbolizer_config *config);
void symbolizer_free(struct symbolizer *s);
/* An open file that answers for a module, the symbolizer's from now on, also when it is refused; path is for messages and debug links. */
int symbolizer_add_file(struct symbolizer *s, struct module_id m, int fd, const char *path, struct err *err);
/* The same for code made while running: fd is what its virtual machine wrote for perf. */
int symbolizer_add_perf_map(struct symbolizer *s, struct module_id m, int fd, const char *path, struct err *err);
/*
 * Fills the catalog with symbols for every distinct (module, pc) of its stacks; those it has already
 * are left alone. Worker failures are no error: they are counts in the catalog, "symbols-...".
 * progress (may be NULL) is called with done and total now and then.
 */
int symbolizer_run(struct symbolizer *s, struct catalog *c, void (*progress)(void *ctx, uint64_t done, uint64_t total), void *ctx,
		   struct err *err);

#endif
