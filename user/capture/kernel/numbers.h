/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel/numbers: places in a table of the kernel's, by number. A number that was given back is
 * taken again as late as possible: others that still have it in mind forget it before. Not for
 * other modules.
 */
#ifndef ALYS_KERNEL_NUMBERS_H
#define ALYS_KERNEL_NUMBERS_H

#include <stdint.h>

struct numbers {
	uint32_t *free; /* a ring of those that are nobody's */
	uint32_t max, first, cnt;
};

/* All numbers below max are free. 0 or -ENOMEM. */
int numbers_init(struct numbers *n, uint32_t max);
void numbers_free(struct numbers *n);
/* 0 or -ENOSPC. */
int numbers_take(struct numbers *n, uint32_t *out);
void numbers_give(struct numbers *n, uint32_t number);

#endif
