/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code/tcache: where glibc's malloc finds the thread's cache of free blocks, read from the function's own code. A call for
 * whose size the cache has a block returns that block.
 */
#ifndef ALYS_CODE_TCACHE_H
#define ALYS_CODE_TCACHE_H

#include <stdbool.h>
#include <stdint.h>

struct flow;

struct tcache_place {
	bool known;
	uint64_t
		slot_vaddr; /* of the word with the thread-local pointer's distance from the thread pointer; 0: it is tls_offset */
	int64_t tls_offset;
	uint32_t entries; /* offset of the lists' heads behind that pointer */
};

/* Not known: another function, another layout, or a malloc that may ask a hook first (glibc before 2.34). */
struct tcache_place tcache_find(const struct flow *w);

#endif
