/* SPDX-License-Identifier: Apache-2.0 */
/* beam/generations: see generations.h. */
#include "beam/generations.h"

#include <string.h>

#include "beam/reading.h"

#define HALF_SZ 2
#define INT_SZ 4
#define BETWEEN 4 /* instructions from the load of the variable to the store of its value */
#define OFFSET_MAX 4096

static int is_limit(void *ctx, const struct elf_symbol *s)
{
	if (s->defined && !strcmp(s->name, "erts_max_gen_gcs"))
		*(uint64_t *)ctx = s->vaddr;
	return 0;
}

/* Where the function stores the variable's value; 0: nowhere, or in several places. */
static int64_t stored_limit(const struct funcs *f, uint64_t function, uint64_t limit)
{
	struct reading r = reading_of(f, function);
	int64_t found = 0;
	int left = 0; /* instructions in which the store may come */
	int8_t reg = INSN_NO_REG;
	while (reading_next(&r)) {
		struct insn_fetch load;
		struct insn_put put;
		insn_fetch_of(r.bytes, r.left, r.in.vaddr, &load);
		insn_put_of(r.bytes, r.left, &put);
		left -= left > 0;
		if (load.fetches && load.bytes == INT_SZ && load.index < 0 &&
		    reading_address(&r, load.base, load.disp) == limit) {
			reg = load.reg;
			left = BETWEEN;
		} else if (left && put.bytes == HALF_SZ && put.base >= 0 && put.from == reg) {
			if (found && found != put.disp)
				return 0;
			found = put.disp;
			left = 0;
		}
	}
	return found;
}

static bool stores_half(const struct funcs *f, uint64_t function, int64_t at)
{
	struct reading r = reading_of(f, function);
	while (reading_next(&r)) {
		struct insn_put put;
		insn_put_of(r.bytes, r.left, &put);
		if (put.bytes == HALF_SZ && put.base >= 0 && put.disp == at)
			return true;
	}
	return false;
}

void beam_generations_find(const struct funcs *f, struct alys_beam *out)
{
	const struct func *fn = funcs_named(f, "erl_create_process");
	uint64_t limit = 0;
	elf_each_symbol(f->elf, is_limit, &limit);
	int64_t at = fn && limit ? stored_limit(f, fn->vaddr, limit) : 0;
	if (at > HALF_SZ && at < OFFSET_MAX && at % INT_SZ == HALF_SZ && stores_half(f, fn->vaddr, at - HALF_SZ))
		out->gen_gcs = (uint16_t)(at - HALF_SZ);
}
