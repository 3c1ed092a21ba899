/* SPDX-License-Identifier: Apache-2.0 */
/* code/counter: where libgc counts the bytes that it hands out, read from the code of GC_get_total_bytes. */
#ifndef ALYS_CODE_COUNTER_H
#define ALYS_CODE_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

struct funcs;

/* Two words that together are the bytes that a collector has handed out since its begin. */
struct byte_counter {
	bool known;
	uint64_t through; /* the words are so far behind what the pointer here points to; 0: they are at these addresses */
	uint64_t words[2];
};

/* Not known where the function is not there, or not simply the sum of two words. */
struct byte_counter counter_find(const struct funcs *f);

#endif
