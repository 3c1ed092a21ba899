/* SPDX-License-Identifier: Apache-2.0 */
/* finder/asked: what is asked of the finder. */
#ifndef ALYS_FINDER_ASKED_H
#define ALYS_FINDER_ASKED_H

#include <stdbool.h>
#include <stdint.h>

struct sites_options {
	uint32_t families; /* one bit per enum alloc_family, 0 = all; ALLOC_USDT is none of them, see notes/noted.h */
	/* Also look for exits cheaper than `ret`; they may hold the result in another register. */
	bool cheap_exits;
	/* Sample at refills if the file allows it: libgc with thread-local free lists. */
	bool refill;
	/* Registers must be as the caller left them: the kernel walks by them, or every return is probed. */
	bool at_entry;
	/* What the unwind table says: CFA = rsp + *sp_off at vaddr. NULL = use the code only. */
	bool (*cfa_at)(void *ctx, uint64_t vaddr, uint32_t *sp_off);
	void *cfa_ctx;
};

#endif
