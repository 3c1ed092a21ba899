/* SPDX-License-Identifier: Apache-2.0 */
/* symbol/symbol_config: configuration of the symbolizer. */
#ifndef ALYS_SYMBOL_SYMBOL_CONFIG_H
#define ALYS_SYMBOL_SYMBOL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/depth.h"

struct symbolizer_config {
	enum symbol_depth depth;
	bool raw_names;       /* mangled */
	bool improve;         /* look up again unless the catalog's answer is exact */
	bool replace;         /* look up everything again */
	uint32_t patience_ms; /* timeout for a silent worker; 0: 5 s */
	uint64_t memory;      /* memory limit per worker, one worker at a time; 0: the jail's limit, several workers */
	const char *worker;   /* worker executable; NULL: this one */
	/* Debug information of a build id from the network: a descriptor, or -1. NULL: never. */
	int (*fetch)(void *ctx, const uint8_t *id, size_t id_sz);
	/* Reports why a file gave no names or a worker no answers; may be NULL. Texts are clean. */
	void (*problem)(void *ctx, const char *path, const char *why);
	void *ctx;
};

#endif
