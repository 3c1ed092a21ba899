/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code/direct_calls: finds direct calls in code without decoding it from a known beginning. Tried wherever an instruction may
 * begin: that bytes read like a call of one address by chance is one case in billions.
 */
#ifndef ALYS_CODE_DIRECT_CALLS_H
#define ALYS_CODE_DIRECT_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_range {
	const uint8_t *bytes;
	size_t n;
	uint64_t vaddr;
};

struct direct_call {
	uint64_t to, behind; /* the function, and the instruction after the call */
	bool jumps;          /* a jump, not a call */
};

/* The next one at *at or behind; moves *at on. False: there is none. */
bool calls_next(const struct code_range *code, size_t *at, struct direct_call *out);

#endif
