/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol: addresses in ELF files to names, files and lines, with inlined calls. Best effort: every address gets an
 * answer, with a quality. Files are read by unprivileged worker processes (worker.h), one per file; their answers are
 * checked here and stored in the catalog. Single-threaded.
 */
#ifndef ALYS_SYMBOL_H
#define ALYS_SYMBOL_H

#include "base/err.h"
#include "catalog/catalog.h"
#include "symbol/symbol_config.h"

struct symbolizer;

/* Copies the config. */
struct symbolizer *symbolizer_new(const struct symbolizer_config *config);
void symbolizer_free(struct symbolizer *s);
/*
 * An open file for a module, now owned by the symbolizer, even if it is refused; path is for messages and debug links.
 */
int symbolizer_add_file(struct symbolizer *s, struct module_id m, int fd, const char *path, struct err *err);
/* The same for generated code: fd is its perf map. */
int symbolizer_add_perf_map(struct symbolizer *s, struct module_id m, int fd, const char *path, struct err *err);
/*
 * Adds symbols to the catalog for every distinct (module, pc) of its stacks; existing ones are kept. Worker failures
 * are not errors, but counts in the catalog, "symbols-...". progress (may be NULL) is called now and then.
 */
int symbolizer_run(struct symbolizer *s, struct catalog *c, void (*progress)(void *ctx, uint64_t done, uint64_t total), void *ctx,
		   struct err *err);

#endif
