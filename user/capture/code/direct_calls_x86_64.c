/* SPDX-License-Identifier: Apache-2.0 */
/* code/direct_calls of x86-64: see calls.h. */
#include "code/direct_calls.h"

#include <string.h>

#define CALL 0xe8
#define JUMP 0xe9
#define LEN 5 /* with the distance */

bool calls_next(const struct code_range *code, size_t *at, struct direct_call *out)
{
	for (size_t i = *at; i + LEN <= code->n; i++) {
		int32_t distance;
		if (code->bytes[i] != CALL && code->bytes[i] != JUMP)
			continue;
		memcpy(&distance, code->bytes + i + 1, sizeof(distance));
		out->behind = code->vaddr + i + LEN;
		out->to = out->behind + (uint64_t)(int64_t)distance;
		out->jumps = code->bytes[i] == JUMP;
		*at = i + 1;
		return true;
	}
	return false;
}
