/*
 * symbol: addresses in ELF files to names, files and lines, inlined calls included. Best effort: an
 * address always gets an answer, its quality says how good. The files are read by worker processes
 * without rights (worker.h), one a file; here their answers are checked and put into the catalog.
 * One thread.
 */
#ifndef ALYS_SYMBOL_H
#define ALYS_SYMBOL_H

#include <stdint.h>

#include "base/err.h"
#include "catalog/catalog.h"
#include "dwarf/depth.h"

struct symbolizer_config {
	enum symbol_depth depth;
	bool raw_names; /* as the compiler wrote them */
	bool improve;	/* ask again for what the catalog has, unless that is exact already */
	bool replace;	/* ask again for all */
	uint32_t patience_ms; /* with a silent worker; 0: 5 s */
	uint64_t memory; /* that a worker may write to, and one works at a time; 0: as much as the jail gives, and several */
	const char *worker; /* the program to be the worker; NULL: this one */
	/* Debug information of a build id from the network: a descriptor, or -1. NULL: never. */
	int (*fetch)(void *ctx, const uint8_t *id, size_t id_sz);
	/* Why a file gave no names, or a worker no answers; may be NULL. Texts are clean. */
	void (*problem)(void *ctx, const char *path, const char *why);
	void *ctx;
};

struct symbolizer;

/* Copies the config. */
struct symbolizer *symbolizer_new(const struct symbolizer_config *config);
void symbolizer_free(struct symbolizer *s);
/* Lends an open file to answer for a module (kept open by the caller); path is for messages and debug links. */
int symbolizer_add_file(struct symbolizer *s, struct module_id m, int fd, const char *path, struct err *err);
/* The same for code made while running: fd is what its virtual machine wrote for perf. */
int symbolizer_add_perf_map(struct symbolizer *s, struct module_id m, int fd, const char *path,
			    struct err *err);
/*
 * Fills the catalog with symbols for every distinct (module, pc) of its stacks; those it has already
 * are left alone. Worker failures are no error: they are counts in the catalog, "symbols-...".
 * progress (may be NULL) is called with done and total now and then.
 */
int symbolizer_run(struct symbolizer *s, struct catalog *c,
		   void (*progress)(void *ctx, uint64_t done, uint64_t total), void *ctx,
		   struct err *err);

#endif
