/* SPDX-License-Identifier: Apache-2.0 */
/* unwind: lookups in a table. See unwind.h. */
#include "unwind/unwind.h"

#include <stdlib.h>

#include "unwind/cfi.h"

void unwind_free(struct unwind_table *t)
{
	if (!t)
		return;
	free(t->pages);
	free(t->rows);
	free(t->specs);
	free(t);
}

size_t unwind_size(const struct unwind_table *t)
{
	return (t->pages_cnt + 1 + t->rows_cnt) * sizeof(uint32_t);
}

static void spell_out(const struct unwind_table *t, uint32_t info, struct unwind_row *row)
{
	row->kind = ALYS_ROW_SPEC;
	if (!(info & ALYS_ROW_SPECIAL)) {
		int32_t slot = (int32_t)(info & ALYS_ROW_SLOT_MAX);
		row->rule = (struct alys_spec){
			.off = 8 * (int32_t)(info >> ALYS_ROW_CFA_SHIFT & ALYS_ROW_CFA_MAX),
			.base_bp = !!(info & ALYS_ROW_BP),
			.bp = slot ? ALYS_SPEC_BP_AT_CFA : ALYS_SPEC_BP_SAME,
			.bp_off = slot ? -8 * (slot + 1) : 0,
			.ra_off = cfi_machine_of(t->machine)->plain_ra((uint32_t)slot),
		};
		return;
	}
	row->kind = info & ALYS_ROW_KIND;
	row->aux = (info & ~ALYS_ROW_SPECIAL) >> ALYS_ROW_AUX_SHIFT;
	if (row->kind == ALYS_ROW_SPEC)
		row->rule = t->specs[row->aux];
}

bool unwind_row_at(const struct unwind_table *t, uint64_t vaddr, struct unwind_row *row)
{
	uint64_t page = (vaddr >> ALYS_PAGE_SHIFT) - t->page0;
	*row = (struct unwind_row){ .kind = ALYS_ROW_NONE };
	if (page >= t->pages_cnt)
		return false;
	uint32_t lo = t->pages[page], n = t->pages[page + 1] - lo;
	uint32_t key = (uint32_t)(vaddr & ((1u << ALYS_PAGE_SHIFT) - 1)) << ALYS_ROW_PC_SHIFT | ALYS_ROW_INFO;
	while (n > 1) {
		uint32_t half = n / 2;
		if (t->rows[lo + half] <= key)
			lo += half;
		n -= half;
	}
	spell_out(t, t->rows[lo] & ALYS_ROW_INFO, row);
	row->from = (t->page0 + page) << ALYS_PAGE_SHIFT | t->rows[lo] >> ALYS_ROW_PC_SHIFT;
	return true;
}

const char *unwind_why(uint32_t why)
{
	static const char *const words[ALYS_ROW_WHY_CNT] = {
		[ALYS_ROW_WHY_RA] = "return address elsewhere", [ALYS_ROW_WHY_CFA] = "frame from another register",
		[ALYS_ROW_WHY_BP] = "frame pointer elsewhere",  [ALYS_ROW_WHY_SP] = "stack pointer elsewhere",
		[ALYS_ROW_WHY_FULL] = "too many special rules",
	};
	return why < ALYS_ROW_WHY_CNT ? words[why] : "unknown";
}
