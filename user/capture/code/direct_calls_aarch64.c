/* SPDX-License-Identifier: Apache-2.0 */
/* code/direct_calls of aarch64: see calls.h. */
#include "code/direct_calls.h"

#include <string.h>

#define B_MASK 0x7c000000u /* of b and bl; bit 31 tells them apart */
#define B 0x14000000u
#define LEN 4

bool calls_next(const struct code_range *code, size_t *at, struct direct_call *out)
{
	for (size_t i = *at + (-(code->vaddr + *at) & (LEN - 1)); i + LEN <= code->n; i += LEN) {
		uint32_t word;
		memcpy(&word, code->bytes + i, sizeof(word));
		if ((word & B_MASK) != B)
			continue;
		uint64_t distance = (uint64_t)((int64_t)((uint64_t)word << 38) >> 36);
		out->behind = code->vaddr + i + LEN;
		out->to = code->vaddr + i + distance;
		out->jumps = !(word >> 31);
		*at = i + LEN;
		return true;
	}
	return false;
}
