/* SPDX-License-Identifier: Apache-2.0 */
/* report/rank: which groups are shown, in which order. Private to this module. */
#ifndef ALYS_REPORT_RANK_H
#define ALYS_REPORT_RANK_H

#include "report/group.h"
#include "report/sheet.h"

#define TEXT_ROWS 30 /* default for text when --top is not given */

/*
 * Largest first, then most allocations, then by name; --top keeps the first of these even if the order is then
 * reversed. Changes g->at; returns how many groups options hide.
 */
size_t rank_groups(struct groups *g);
/* Rows to show: --top, else the format's default. SIZE_MAX = all. */
size_t rank_limit(const struct report_options *o);

#endif
