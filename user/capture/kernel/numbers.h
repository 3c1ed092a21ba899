/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel/numbers: allocates indexes of a kernel table. A released index is reused as late as possible, so that stale
 * references expire first. Private to kernel/ and probe/.
 */
#ifndef ALYS_KERNEL_NUMBERS_H
#define ALYS_KERNEL_NUMBERS_H

#include <stdint.h>

struct numbers {
	uint32_t *free; /* ring of free indexes */
	uint32_t max, first, cnt;
};

/* All indexes below max are free. 0 or -ENOMEM. */
int numbers_init(struct numbers *n, uint32_t max);
void numbers_free(struct numbers *n);
/* 0 or -ENOSPC. */
int numbers_take(struct numbers *n, uint32_t *out);
void numbers_give(struct numbers *n, uint32_t number);

#endif
