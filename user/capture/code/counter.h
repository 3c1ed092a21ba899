/* SPDX-License-Identifier: Apache-2.0 */
/* code/counter: finds where libgc counts allocated bytes, from the code of GC_get_total_bytes. */
#ifndef ALYS_CODE_COUNTER_H
#define ALYS_CODE_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

struct funcs;

/*
 * Two words whose sum is the number of bytes allocated by a collector since its start. Where threads count each for
 * itself, there are such words in every element of an array.
 */
struct byte_counter {
	bool known;
	uint64_t through; /* the words are at these offsets behind the pointer stored here; 0: they are at these addresses */
	uint64_t words[2];
	uint64_t parts;  /* where the number of elements is stored, 0: one */
	uint64_t stride; /* from one element to the next */
	uint32_t unit;   /* bytes that a count stands for */
};

/* Empty if the function is missing, or is not simply the sum of two words. */
struct byte_counter counter_find(const struct funcs *f);

#endif
