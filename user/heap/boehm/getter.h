/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boehm/getter: where the variable is that a small function of libgc returns, from the function's code: libraries without a symbol table
 * name their functions only. Twins: getter_x86_64.c, getter_aarch64.c.
 */
#ifndef ALYS_BOEHM_GETTER_H
#define ALYS_BOEHM_GETTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GETTER_SZ 24 /* bytes of code that are enough */

struct getter {
	uint64_t addr;   /* 0: not such a function */
	bool from_table; /* the variable's address is stored at addr, in the global offset table */
};

/* code: GETTER_SZ bytes that are at `at` in memory. */
struct getter getter_in(const uint8_t *code, uint64_t at);

#endif
