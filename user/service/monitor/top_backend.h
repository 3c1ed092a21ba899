/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monitor/top_backend: a recording for `top`, of one process or all, without a daemon or a file. In: options. Out: a
 * list of stacks every second. Runs on top's thread.
 */
#ifndef ALYS_MONITOR_TOP_BACKEND_H
#define ALYS_MONITOR_TOP_BACKEND_H

#include "monitor/continuous.h"
#include "top/top.h"

struct top_backend;

/* pid: the only process, whose end is the end; 0 = those that the options select. Borrows the options. */
struct top_backend *top_backend_new(const struct continuous_options *o, uint32_t pid, struct err *err);
struct top_source top_backend_source(struct top_backend *s);
/* Detaches the probes. For use at program end: pending work is abandoned. */
void top_backend_free(struct top_backend *s);

#endif
