/* SPDX-License-Identifier: Apache-2.0 */
/* verbs/leave_out: how old a live block has to be for a report. */
#ifndef ALYS_VERBS_LEAVE_OUT_H
#define ALYS_VERBS_LEAVE_OUT_H

#include <stdbool.h>
#include <stdint.h>

struct older_than {
	double number; /* 0 = any age */
	bool percent;  /* of the time reported on; else seconds */
};

/* From when on blocks are left out; UINT64_MAX: none is. */
static inline uint64_t leave_out_from(const struct older_than *o, uint64_t start_ns, uint64_t end_ns)
{
	double length = end_ns > start_ns ? (double)(end_ns - start_ns) : 0;
	double least = o->percent ? length * o->number / 100 : o->number * 1e9;
	if (!o->number)
		return UINT64_MAX;
	return least < length ? end_ns - (uint64_t)least : start_ns;
}

#endif
