/* SPDX-License-Identifier: Apache-2.0 */
/* boehm/strings: a String of Crystal's says its own length, by which it is told from memory that begins with its number. */
#ifndef ALYS_BOEHM_STRINGS_H
#define ALYS_BOEHM_STRINGS_H

#include "boehm/heap.h"

#define TYPE_ID_STRING 1  /* in every program */
#define STRING_HEADER 12  /* id, bytes, characters, of four bytes each */
#define STRING_SLACK 4096 /* one that shrank may keep its slot */

/* word: the first of an object. */
static inline bool is_string(uint64_t word, uint64_t size, uint8_t kind)
{
	uint64_t bytes = STRING_HEADER + (word >> 32) + 1;
	return (uint32_t)word == TYPE_ID_STRING && kind == HEAP_ATOMIC && bytes <= size && size <= 2 * bytes + STRING_SLACK;
}

#endif
