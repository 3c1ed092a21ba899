/* SPDX-License-Identifier: Apache-2.0 */
/* report/rank: which groups are shown and in which order. Not for other modules. */
#ifndef ALYS_REPORT_RANK_H
#define ALYS_REPORT_RANK_H

#include "report/group.h"
#include "report/sheet.h"

#define TEXT_ROWS 30 /* shown to people who gave no --top */

/*
 * Largest first, then most allocations, then by name; --top keeps the first of these even when the
 * order is then turned round. Changes g->at; returns how many groups options hide.
 */
size_t rank_groups(struct groups *g);
/* Rows to show: what --top says, else what the format is for. SIZE_MAX = all. */
size_t rank_limit(const struct report_options *o);

#endif
