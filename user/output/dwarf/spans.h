/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf/spans: flattens nested address ranges: which item is innermost at an address. Add in any order, seal once, then
 * find. If ranges overlap, the deeper or later starting one wins.
 */
#ifndef ALYS_DWARF_SPANS_H
#define ALYS_DWARF_SPANS_H

#include <stddef.h>
#include <stdint.h>

struct span {
	uint64_t low, high; /* high is exclusive */
	uint32_t item, depth;
};

struct spans {
	struct span *at;
	size_t at_cnt, at_cap;
};

#define SPANS_NONE UINT32_MAX

/* 0 or -ENOMEM; empty ranges, and those beyond a large limit, are ignored. */
int spans_add(struct spans *s, uint64_t low, uint64_t high, uint32_t item, uint32_t depth);
int spans_seal(struct spans *s);
uint32_t spans_find(const struct spans *s, uint64_t addr); /* SPANS_NONE: none contains it */
void spans_free(struct spans *s);

#endif
