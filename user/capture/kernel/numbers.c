/* SPDX-License-Identifier: Apache-2.0 */
/* kernel/numbers: see numbers.h. */
#include "kernel/numbers.h"

#include <errno.h>
#include <stdlib.h>

int numbers_init(struct numbers *n, uint32_t max)
{
	*n = (struct numbers){ .free = calloc(max, sizeof(*n->free)), .max = max, .cnt = max };
	if (!n->free)
		return -ENOMEM;
	for (uint32_t i = 0; i < max; i++)
		n->free[i] = i;
	return 0;
}

void numbers_free(struct numbers *n)
{
	free(n->free);
	*n = (struct numbers){ 0 };
}

int numbers_take(struct numbers *n, uint32_t *out)
{
	if (!n->cnt)
		return -ENOSPC;
	*out = n->free[n->first];
	n->first = (n->first + 1) % n->max;
	n->cnt--;
	return 0;
}

void numbers_give(struct numbers *n, uint32_t number)
{
	n->free[(n->first + n->cnt++) % n->max] = number;
}
