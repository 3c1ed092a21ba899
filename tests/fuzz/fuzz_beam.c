/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the layout of the Erlang VM's processes in arbitrary code: if found, all its offsets must be distinct words. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "beam/process_layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORDS (offsetof(struct alys_beam, counted) / sizeof(uint16_t))

#define CHECK(x)                 \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct alys_beam l;
	uint16_t at[WORDS];
	bool found = beam_layout_in(data, size, &l);
	memcpy(at, &l, sizeof(at)); /* what is no offset comes behind them */
	for (size_t i = 0; i < WORDS; i++) {
		CHECK(found ? at[i] && at[i] % 8 == 0 : !at[i]);
		for (size_t k = 0; found && k < i; k++)
			CHECK(at[i] != at[k]);
	}
	return 0;
}
