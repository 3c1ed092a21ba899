/* SPDX-License-Identifier: Apache-2.0 */
/* report/timeview: the time line as a table. Not for other modules. */
#ifndef ALYS_REPORT_TIMEVIEW_H
#define ALYS_REPORT_TIMEVIEW_H

#include "report/report.h"

int write_times(const struct report_input *in, const struct report_options *o, struct sink_out *out, struct err *err);

#endif
