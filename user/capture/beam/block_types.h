/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beam/block_types: the types that the Erlang VM gives to its blocks, by the two tables of its erl_alloc_types.h: number of
 * each (erts_alc_n2t) and its name (erts_alc_n2td). In: the symbols of one file. Out: numbers and names; none if the tables do not
 * fit each other, a number comes twice, or a name is no name.
 */
#ifndef ALYS_BEAM_BLOCK_TYPES_H
#define ALYS_BEAM_BLOCK_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "alys.h"
#include "elf/elf.h"

#define BEAM_TYPE_NAME 48

struct beam_type {
	uint32_t number; /* below ALYS_MEMORY_TYPED */
	char name[BEAM_TYPE_NAME];
};

struct beam_types {
	struct beam_type *at;
	size_t at_cnt, at_cap;
};

/* 0, or -ENOMEM. Then beam_types_free. */
int beam_types_find(const struct elf *e, struct beam_types *out);
void beam_types_free(struct beam_types *t);
/* NULL: not known. */
const char *beam_type_name(const struct beam_types *t, uint32_t number);
/* Those of blocks that hold the words of Erlang processes. */
void beam_types_of_heaps(const struct beam_types *t, uint16_t out[ALYS_BEAM_OWN_TYPES]);

#endif
