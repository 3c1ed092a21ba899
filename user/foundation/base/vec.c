/* SPDX-License-Identifier: Apache-2.0 */
/* base/vec: see vec.h. */
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

void *vec_grow(void *data, size_t *cap, size_t cnt, size_t elem_sz)
{
	if (cnt < *cap) {
		memset((char *)data + cnt * elem_sz, 0, elem_sz);
		return data;
	}
	size_t want = *cap ? *cap * 2 : 16;
	char *grown = realloc(data, want * elem_sz);
	if (!grown)
		return NULL;
	memset(grown + cnt * elem_sz, 0, elem_sz);
	*cap = want;
	return grown;
}
