/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monitor/top_backend: a recording of its own for `top`: one process, or all of them, without a daemon and
 * without a file. In: options. Out: a list of stacks every second. One thread, that of top.
 */
#ifndef ALYS_MONITOR_TOP_BACKEND_H
#define ALYS_MONITOR_TOP_BACKEND_H

#include "monitor/continuous.h"
#include "top/top.h"

struct top_backend;

/* pid: the only one that is watched, whose end is the end; 0 = those that the options select. Borrows the options. */
struct top_backend *top_backend_new(const struct continuous_options *o, uint32_t pid, struct err *err);
struct top_source top_backend_source(struct top_backend *s);
/* Takes the probes away. For the end of a program: what is on its way then is left as it is. */
void top_backend_free(struct top_backend *s);

#endif
