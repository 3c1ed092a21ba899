/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boehm/strings: recognizes Crystal Strings: a String contains its length, which distinguishes it from memory that merely
 * begins with its type id.
 */
#ifndef ALYS_BOEHM_STRINGS_H
#define ALYS_BOEHM_STRINGS_H

#include "boehm/heap.h"

#define TYPE_ID_STRING 1  /* in every program */
#define STRING_HEADER 12  /* type id, bytesize, length, four bytes each */
#define STRING_SLACK 4096 /* one that was shrunk may keep its slot */

/* word: the object's first eight bytes. */
static inline bool is_string(uint64_t word, uint64_t size, uint8_t kind)
{
	uint64_t bytes = STRING_HEADER + (word >> 32) + 1;
	return (uint32_t)word == TYPE_ID_STRING && kind == HEAP_ATOMIC && bytes <= size && size <= 2 * bytes + STRING_SLACK;
}

#endif
