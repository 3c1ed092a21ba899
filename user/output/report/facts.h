/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report/facts: what a report says besides its rows: what they count, notes, or why there are none. Private to this
 * module.
 */
#ifndef ALYS_REPORT_FACTS_H
#define ALYS_REPORT_FACTS_H

#include "base/buf.h"
#include "base/err.h"
#include "report/report.h"

const char *by_name(enum report_by by);
const char *by_title(enum report_by by);
/* Why there is nothing to report: -ENOENT. */
int report_refuse_empty(const struct report_input *in, struct err *err);
/* What is left out as too young: "3 blocks with 96 bytes (+- 8) allocated after 1.500 s are left out" */
void put_left_out(const struct report_input *in, double cnt, double sz, double error, struct buf *out);
/* Ledger, sampling, upper bounds: lines. */
void report_notes(const struct report_input *in, struct buf *out);
/* JSON members that every report has. */
void put_facts(const struct report_input *in, const char *by, const char *show, struct buf *out);

#endif
