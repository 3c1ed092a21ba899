/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beam/stored: what a function stores on its stack, as far as that is made of words of the struct that its first argument
 * points to. The code is read from its start to its end, in the order of its addresses, as if no branch were taken: what
 * follows from this must be confirmed by its form.
 */
#ifndef ALYS_BEAM_STORED_H
#define ALYS_BEAM_STORED_H

#include <stddef.h>
#include <stdint.h>

enum value_kind {
	VALUE_UNKNOWN,
	VALUE_STRUCT, /* the argument itself */
	VALUE_WORD,   /* word a */
	VALUE_SUM,    /* word a + something unknown */
	VALUE_BYTES,  /* word a, or with a = 0 something unknown, - word b */
	VALUE_WORDS,  /* the same divided by 8 */
};

struct value {
	enum value_kind kind;
	int32_t a, b; /* offsets in the struct */
};

#define STORED_MAX 128

/* In the order in which they are made. */
struct stored {
	struct {
		int64_t slot; /* distance to the stack pointer */
		struct value value;
	} at[STORED_MAX];
	size_t cnt;
};

/* Of the code of one function. More than STORED_MAX: the first ones. */
void stored_by(const uint8_t *code, size_t n, struct stored *out);

#endif
