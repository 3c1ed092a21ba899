/* SPDX-License-Identifier: Apache-2.0 */
/* symbol/config: how names are asked for. */
#ifndef ALYS_SYMBOL_CONFIG_H
#define ALYS_SYMBOL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/depth.h"

struct symbolizer_config {
	enum symbol_depth depth;
	bool raw_names;       /* as the compiler wrote them */
	bool improve;         /* ask again for what the catalog has, unless that is exact already */
	bool replace;         /* ask again for all */
	uint32_t patience_ms; /* with a silent worker; 0: 5 s */
	uint64_t memory;      /* that a worker may write to, and one works at a time; 0: as much as the jail gives, and several */
	const char *worker;   /* the program to be the worker; NULL: this one */
	/* Debug information of a build id from the network: a descriptor, or -1. NULL: never. */
	int (*fetch)(void *ctx, const uint8_t *id, size_t id_sz);
	/* Why a file gave no names, or a worker no answers; may be NULL. Texts are clean. */
	void (*problem)(void *ctx, const char *path, const char *why);
	void *ctx;
};

#endif
