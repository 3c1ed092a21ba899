/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -rdynamic */
/*
 * Has allocators as an Erlang VM has them, all four ways to call one, above malloc; but the tables of its types do not fit each other,
 * so the types have numbers in place of names.
 */
#include <stdint.h>
#include <stdlib.h>

#include "truth.h"

#define BINARY 0x6b2a
#define ROWS 0x61c7

const uint32_t erts_alc_n2t[] = { 0, BINARY, ROWS };
const char *const erts_alc_n2td[] = { "invalid_type", "binary" };

__attribute__((noipa)) void *erts_alcu_alloc(uint32_t type, void *allocator, size_t size)
{
	void *block = malloc(size + 16);
	return type && !allocator ? block : NULL;
}

__attribute__((noipa)) void *erts_alcu_realloc_thr_pref(uint32_t type, void *allocator, void *old, size_t size)
{
	void *block = realloc(old, size + 16);
	return type && !allocator ? block : NULL;
}

__attribute__((noipa)) void erts_alcu_free(uint32_t type, void *allocator, void *block)
{
	if (type && !allocator)
		free(block);
}

static void *blocks[10];

SITE void site_rows(void)
{
	for (int i = 0; i < 10; i++)
		blocks[i] = ALLOC(erts_alcu_alloc(ROWS, NULL, 100), 100);
	NO_TAIL_CALL();
}

#define release(block) erts_alcu_free(ROWS, NULL, block)

SITE void site_leave_six(void)
{
	for (int i = 0; i < 4; i++)
		FREE(release, blocks[i]);
}

SITE void site_grows(void)
{
	void *block = ALLOC(erts_alcu_alloc(BINARY, NULL, 50), 50);
	blocks[0] = REALLOC(erts_alcu_realloc_thr_pref(BINARY, NULL, truth_old, 5000), block, 5000);
	NO_TAIL_CALL();
}

int main(void)
{
	truth_ready();
	site_rows();
	site_leave_six();
	site_grows();
	return truth_done();
}
